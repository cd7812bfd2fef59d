"""Write a log as a version of Simon Willison's ``llm`` writes it, as a text of SQL, for `tests/cli/test_logs_command.py`.

By hand, once for each way in which it keeps a log: ``build.py ENVIRONMENT/bin/llm rows.sql`` with 0.26, whose rows are
responses, and ``tree.sql`` with 0.36, whose messages are a tree.
"""

import os
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path

from hocket.testing import OpenAIFormat, Reply, serve

CALL = {"type": "tool_call", "name": "add", "args": {"a": 2, "b": 3}, "id": "call_1"}
REPLIES = [
    "Blue light scatters.",
    "The way is longer.",
    Reply(tool_calls=[CALL]),
    "It is 5.",
    "A summary.",
    "A cat.",
    "A dog.",
]
ADD = "def add(a: int, b: int) -> int:\n    'Add.'\n    return a + b"
ASKED = (
    ("-s", "Be brief.", "Why is the sky blue?"),
    ("-c", "And at sunset?"),
    ("--functions", ADD, "What is 2 + 3?"),
    ("-f", "notes.txt", "Summarise"),
    ("-a", "sky.png", "What is it?"),
    ("-a", "-", "And this?"),
)
PNG = b"\x89PNG\r\n\x1a\n picture"
MODEL = (
    "- {model_id: small, model_name: small, api_base: ADDRESS, supports_tools: true, can_stream: false, vision: true}\n"
)


def build(program: str, target: Path) -> None:
    """Ask, and write what was logged."""
    with tempfile.TemporaryDirectory() as name, serve(OpenAIFormat(), REPLIES) as server:
        home = Path(name)
        (home / "extra-openai-models.yaml").write_text(MODEL.replace("ADDRESS", server.url))
        (home / "sky.png").write_bytes(PNG)
        (home / "notes.txt").write_text("Notes about the sea.")
        env = {**os.environ, "LLM_USER_PATH": name, "OPENAI_API_KEY": "x"}
        for words in ASKED:
            model = () if "-c" in words else ("-m", "small")
            subprocess.run(
                [program, *model, "--no-stream", *words],
                input=PNG + b"!" if "-" in words else b"",
                env=env,
                cwd=home,
                check=True,
            )
        with sqlite3.connect(home / "logs.db") as db:
            for (table,) in db.execute("SELECT name FROM sqlite_master WHERE name LIKE '%_fts'").fetchall():
                db.execute(f"DROP TABLE {table}")
            for (trigger,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
                db.execute(f"DROP TRIGGER {trigger}")
            db.execute("DELETE FROM _llm_migrations")
            lines = [line.replace(name, "/home/ada") for line in db.iterdump() if "sqlite_sequence" not in line]
        target.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    build(sys.argv[1], Path(__file__).parent / sys.argv[2])
