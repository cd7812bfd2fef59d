"""Changes files in a folder; a person approves each change. Start it again after a break: it goes on."""

import os
import sys
from dataclasses import dataclass
from pathlib import Path

from hocket import Resume, create_agent, open_history
from hocket.agents import Runtime
from hocket.tools import ToolException


@dataclass
class Workspace:
    folder: Path

    def find(self, file: str) -> Path:
        """Return a path in the folder; no other is touched."""
        path = (self.folder / file).resolve()
        if not path.is_relative_to(self.folder.resolve()):
            raise ToolException(f"{file} is not in the folder")
        return path


def read_file(file: str, runtime: Runtime[Workspace]) -> str:
    """Read a file."""
    return runtime.context.find(file).read_text(encoding="utf-8")


def write_file(file: str, text: str, runtime: Runtime[Workspace]) -> str:
    """Write a file."""
    runtime.context.find(file).write_text(text, encoding="utf-8")
    return f"{file} has {len(text)} characters now."


agent = create_agent(
    os.environ.get("HOCKET_MODEL", "local"),
    [read_file, write_file],
    context_schema=Workspace,
    system_prompt="Make the change that is asked for. Read a file before you write it.",
    interrupt_on=["write_file"],
)


def main(question: str | None) -> None:
    history = open_history("sqlite:///talks.sqlite", session_id="coding")
    workspace = Workspace(Path.cwd())
    result = agent.invoke(question or Resume(), history=history, context=workspace)
    while result.pending:
        decisions: dict[str, str] = {}
        for call in result.pending:
            decisions[call["id"] or ""] = input(f"{call['name']}({call['args']})? approve or reject: ")
        result = agent.invoke(Resume(decisions), history=history, context=workspace)
    print(result.output)


if __name__ == "__main__":
    main(sys.argv[1] if sys.argv[1:] else None)
