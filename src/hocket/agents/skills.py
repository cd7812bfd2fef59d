"""Skills: folders of instructions that a model reads when it needs them.

A skill is a folder with a ``SKILL.md``: a front matter with ``name`` and ``description``, then Markdown for the model,
which may name further files of the folder. The model is shown names and descriptions, in the description of one tool,
``load_skill``, which gives the rest. Instructions are read once, before any model is asked: so a mistake is found then, and
all runs see the same. Nothing of a skill is run.

A skill may come from a stranger, and the tool shows files to a model: so no path leads out of the folder of a skill, also
not by a link.
"""

import os
import re
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, cast

from pydantic import PrivateAttr

from hocket._yaml import read_yaml
from hocket.errors import InvalidInput, ToolException
from hocket.errors.hints import excerpt, near_name_hint, shorten
from hocket.tools import StructuredTool

__all__ = ["LOAD_SKILL", "Skill", "SkillPaths", "SkillTool", "make_skill_tool", "read_skills"]

SkillPaths = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]
"""A folder of skills, or several."""

LOAD_SKILL = "load_skill"
"""The name of the tool that reads skills."""

_FILE = "SKILL.md"
_FRONT = re.compile(r"---[ \t]*\n(.*?)^---[ \t]*$", re.DOTALL | re.MULTILINE)
_SHOWN = 200  # characters of a description that the model is shown
_MOST_SHOWN = 30  # skills with their descriptions
_LARGEST_FILE = 1_000_000  # bytes

# A line that YAML reads as a name and a text; what may mean more is left to a reader of YAML.
_PLAIN_LINE = re.compile(r"""([A-Za-z_][\w-]*):[ \t]+([^\s\[\]{}>|&*!%@`"'#?,-](?:(?!\s\#).)*)""")

_HINT = (
    "Load the instructions of a skill before you do what the skill is for. With `file`, load a text file of the skill "
    "that its instructions name. The skills:"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Skill:
    """A skill: its name, what it is for, its instructions, and its folder, without links in its path."""

    name: str
    description: str
    body: str
    folder: Path


class SkillTool(StructuredTool):
    """The tool ``load_skill(name, file=None)``; made by `make_skill_tool`."""

    _paths: SkillPaths = PrivateAttr(default=())
    _skills: Mapping[str, Skill] | None = PrivateAttr(default=None)

    @property
    def is_read(self) -> bool:
        """Whether the skills are there."""
        return self._skills is not None

    def read(self) -> Mapping[str, Skill]:
        """Return the skills by name. At the first time they are read, in this thread: see `make_skill_tool`."""
        if self._skills is None:
            skills = {skill.name: skill for skill in read_skills(self._paths)}
            shown = [f"- {name}: {shorten(skill.description, _SHOWN)}" for name, skill in skills.items()]
            is_long = len(skills) > _MOST_SHOWN
            self.description: str = f"{_HINT} {', '.join(skills)}" if is_long else "\n".join([_HINT, *shown])
            self._skills = skills
        return self._skills

    def list_unseen(self) -> Mapping[str, Skill]:
        """Return those of the skills that were read whose descriptions the model is not shown."""
        return self._skills if self._skills and len(self._skills) > _MOST_SHOWN else {}


def make_skill_tool(paths: SkillPaths, *, later: bool = False) -> SkillTool:
    """Return the tool ``load_skill(name, file=None)``, by which a model reads skills.

    The skills are read now, in this thread: in an event loop, have a worker thread call this. A further file is read when
    the model asks for it, by async runs in a worker thread.

    Args:
        paths: a folder, or several; each of their sub-folders with a ``SKILL.md`` is a skill.
        later: whether the skills are read by `SkillTool.read` instead, which raises the same.

    Raises:
        InvalidInput: a folder is not there or has no skill, two skills have one name, or a ``SKILL.md`` cannot be used:
            the text names the file and the line.
        MissingDependency: a front matter is more than lines of ``key: value``, and the extra ``yaml`` is not installed.
    """

    def load_skill(
        name: Annotated[str, "the name of the skill"],
        file: Annotated[str | None, "a file of the skill, by its path in it; default: the instructions"] = None,
    ) -> str:
        skills = made.read()
        skill = skills.get(name)
        if skill is None:
            raise ToolException(f"there is no skill {excerpt(name)}; {near_name_hint(name, skills)}")
        return skill.body if file is None else _read_text(skill.folder, file)

    made = SkillTool.from_function(load_skill, description=_HINT, metadata={"idempotent": True})
    made._paths = paths  # pyright: ignore[reportPrivateUsage]  # of the class above
    if not later:
        made.read()
    return made


def read_skills(paths: SkillPaths) -> list[Skill]:
    """Return the skills of folders, in the order of the folders, then by the names of theirs. See `make_skill_tool`."""
    skills: dict[str, Skill] = {}
    for path in [paths] if isinstance(paths, str | os.PathLike) else paths:
        parent = Path(path)
        folders = sorted(one.parent for one in parent.glob(f"*/{_FILE}"))
        if not folders:
            why = f"no folder in it has a {_FILE}" if parent.is_dir() else "it is not there"
            raise InvalidInput(f"{str(parent)!r} is no folder of skills: {why}; skills= takes the folder around theirs")
        for folder in folders:
            skill = _read_skill(folder, parent.resolve())
            if skill.name in skills:
                first = skills[skill.name].folder
                raise InvalidInput(f"two skills are called {skill.name!r}, in {first} and {skill.folder}; rename one")
            skills[skill.name] = skill
    return list(skills.values())


def _read_skill(folder: Path, parent: Path) -> Skill:
    place, real = folder / _FILE, folder.resolve()
    if not real.is_relative_to(parent):
        raise InvalidInput(f"{folder} is a link out of {parent}; give the folder around its target in skills=[...]")
    try:
        text = _read_text(real, _FILE).replace("\r\n", "\n")
    except ToolException as error:
        raise InvalidInput(f"{place}: {error}") from error
    parts = _FRONT.match(text)
    if parts is None:
        raise InvalidInput(f"{place}, line 1: a skill begins with lines of 'key: value' between two lines of '---'")
    front = parts[1].splitlines()
    fields = _read_fields(place, front)

    def read(key: str, pattern: str, wanted: str) -> str:
        value = fields.get(key)
        told = " ".join(value.split()) if isinstance(value, str) else ""
        if re.fullmatch(pattern, told):
            return told
        line = next((at for at, one in enumerate(front, 2) if one.startswith(f"{key}:")), 1)
        raise InvalidInput(f"{place}, line {line}: {key} is {excerpt(value)}; it is {wanted}")

    name = read("name", "[a-z0-9-]{1,64}", "1 to 64 characters of a-z, 0-9 and '-'")
    description = read("description", ".{1,1024}", "a text of 1 to 1,024 characters")
    return Skill(name=name, description=description, body=text[parts.end() :].strip(), folder=real)


def _read_fields(place: Path, lines: Sequence[str]) -> Mapping[str, object]:
    """Return what a front matter says, whose first line is the second of its file."""
    plain = [_PLAIN_LINE.fullmatch(line.rstrip()) for line in lines]
    rich = (at for at, line in enumerate(lines) if line.strip() and line[0] != "#" and not plain[at])
    at = next(rich, None)
    if at is None:
        return {match[1]: match[2] for match in plain if match}
    needed_by = f"{place}, line {at + 2}: more than 'key: value', without quotes,"
    try:
        fields = read_yaml("\n".join(lines), needed_by, 2)
    except InvalidInput as error:
        raise InvalidInput(f"{place}, {error}") from error
    if not isinstance(fields, dict):
        raise InvalidInput(f"{place}, line {at + 2}: a front matter is lines of 'key: value', not {excerpt(fields)}")
    return cast("dict[str, object]", fields)


def _read_text(folder: Path, file: str) -> str:
    """Return a text file of a folder whose own path has no links. The model is told what it raises."""
    shown = excerpt(file)
    try:
        real = (folder / file).resolve()
        if not real.is_relative_to(folder):
            raise ToolException(f"{shown} leads out of the folder of the skill")
        if not stat.S_ISREG(real.stat().st_mode):  # to open a pipe may wait for ever
            raise ToolException(f"{shown} is no file")
        with real.open("rb") as opened:
            data = opened.read(_LARGEST_FILE + 1)
        if len(data) > _LARGEST_FILE:
            raise ToolException(f"{shown} is larger than {_LARGEST_FILE:,} bytes")
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ToolException(f"{shown} is no text in UTF-8") from error
    except (OSError, ValueError, RuntimeError) as error:  # a NUL, or links in a circle
        reason = error.strerror if isinstance(error, OSError) else error
        raise ToolException(f"{shown} cannot be read: {reason}") from error
