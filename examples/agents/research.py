"""Answers from a team's notes, with the names of the notes."""

import asyncio
import os
import sys
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel

from hocket import create_agent
from hocket.agents import Runtime


@dataclass
class Reader:
    team: str
    language: str = "English"


class Finding(BaseModel):
    """What was found, with the notes that say it."""

    answer: str
    sources: list[str]


def search_notes(word: str, runtime: Runtime[Reader]) -> str:
    """Find the lines of the team's notes that have a word."""
    notes = sorted(Path("notes", runtime.context.team).glob("*.md"))
    found = [f"{note.name}: {line}" for note in notes for line in note.read_text(encoding="utf-8").splitlines()]
    return "\n".join(line for line in found if word.lower() in line.lower()) or f"No note has {word!r}."


def instruct(runtime: Runtime[Reader]) -> str:
    return f"Answer in {runtime.context.language}, from the notes alone. Say so if they do not say it."


agent = create_agent(
    os.environ.get("HOCKET_MODEL", "local"),
    [search_notes],
    context_schema=Reader,
    system_prompt=instruct,
    response_format=Finding | str,
)

if __name__ == "__main__":
    result = asyncio.run(agent.ainvoke(sys.argv[1], context=Reader("support")))
    print(result.output)
