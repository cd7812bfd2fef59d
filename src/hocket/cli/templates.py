"""``hocket templates``, and what ``hocket chat --template`` does: a question with its options, kept under a name.

A template is a file of JSON or YAML in the user's folder of settings, whose keys are those of ``llm``'s templates. It says
what the command line leaves out: an option that is given there goes before it.
"""

import argparse
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from glob import escape
from pathlib import Path
from string import Template
from typing import cast

from hocket.cli.arguments import OneLineParser
from hocket.cli.folders import find_folder, write_own_file
from hocket.cli.model_options import FLAGS, parse_option, read_model_options
from hocket.cli.output import note, print_lines, squeeze
from hocket.errors import InvalidInput
from hocket.errors.hints import near_name_hint, shorten

__all__ = ["HELP", "ChatTemplate", "configure", "list_templates", "open_template", "run", "save_template"]

HELP = "Show the templates that `hocket chat --save NAME` keeps, or remove one."

_LIST = "List the templates, a line each."
_SHOW = "Print a template."
_PATH = "Print the folder of the templates: files of JSON or YAML."
_REMOVE = "Forget a template."

_KINDS: Mapping[str, type | tuple[type, ...]] = {
    "prompt": str,
    "system": str,
    "model": str,
    "base_url": str,
    "options": dict,
    "defaults": dict,
    "schema": (str, dict),
    "tools": list,
    "functions": (str, list),
    "fragments": list,
    "attachments": list,
    "extract": bool,
    "extract_last": bool,
}
_ALIASES = {"schema_object": "schema"}  # as `llm` calls it
# What an option of `hocket chat` is called, where it is one: of a list what the template has comes first.
_OPTIONS = {
    "system": "system",
    "model": "model",
    "base_url": "base_url",
    "schema": "schema",
    "tools": "tools",
    "functions": "functions",
    "fragments": "fragment",
    "attachments": "attach",
}
_SUFFIXES = (".json", ".yaml", ".yml")


def configure(parser: OneLineParser) -> None:
    """Add the arguments of this subcommand."""
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for name, text, act in (
        ("list", _LIST, _list),
        ("show", _SHOW, _show),
        ("path", _PATH, _print_path),
        ("remove", _REMOVE, _remove),
    ):
        command = commands.add_parser(name, help=text, description=text)
        if name in ("show", "remove"):
            command.declare("template NAME", "of the template")
        command.set_defaults(act=act)


def run(arguments: argparse.Namespace) -> None:
    """Do what was asked for.

    Raises:
        InvalidInput: there is no such template, or it cannot be read or removed.
        MissingDependency: it is YAML, and PyYAML is not installed.
    """
    arguments.act(arguments)


def _list(arguments: argparse.Namespace) -> None:
    for name in list_templates():
        said = _read(_find_file(name))
        print_lines([f"{name}: {shorten(squeeze(str(said.get('prompt') or said.get('system') or '')), 80)}"])


def _show(arguments: argparse.Namespace) -> None:
    print_lines([_find_file(arguments.template).read_text(encoding="utf-8").rstrip("\n")])


def _print_path(arguments: argparse.Namespace) -> None:
    print_lines([str(_find_folder())])


def _remove(arguments: argparse.Namespace) -> None:
    path = _find_file(arguments.template)
    try:
        path.unlink()
    except OSError as error:
        raise InvalidInput(f"{path} cannot be removed: {error.strerror}") from None


class ChatTemplate:
    """A template, with the values of its names.

    Args:
        said: what its file says.
        name: of it, for errors.
        values: by name, over its defaults.
    """

    def __init__(self, said: Mapping[str, object], name: str, values: Sequence[tuple[str, str]]) -> None:
        self._said = said
        self._name = name
        self._values = {**cast("dict[str, object]", said.get("defaults", {})), **dict(values)}

    def complete(self, arguments: argparse.Namespace) -> None:
        """Set the options of `hocket chat` that the command line leaves out.

        Raises:
            InvalidInput: a name has no value, or an option is none of a model's.
        """
        said, options = self._said, vars(arguments)
        for key, option in _OPTIONS.items():
            value, given = said.get(key), options[option]
            if isinstance(given, list):
                kept = cast("list[str]", [value] if isinstance(value, str) else value or [])
                options[option] = [*kept, *cast("list[str]", given)]
            elif given is None and value is not None:
                options[option] = self._fill(key) if key == "system" else _write_value(value)
        which = "last" if said.get("extract_last") else "first" if said.get("extract") else None
        arguments.extract = arguments.extract or which
        given = {name for name, _ in arguments.option} | {
            name for name in FLAGS if getattr(arguments, name) is not None
        }
        for name, value in cast("dict[str, object]", said.get("options", {})).items():
            try:
                parsed = parse_option(f"{name}={_write_value(value)}")
            except argparse.ArgumentTypeError as error:
                raise self._refuse(str(error)) from None
            if parsed[0] not in given:
                arguments.option = [*arguments.option, parsed]

    def begin(self, words: Sequence[str]) -> list[str]:
        """Return the words of the question, its own before those of the command line, unless it has a place for them."""
        if "prompt" not in self._said or self._has_place:
            return [*words]
        prompt = self._fill("prompt")
        return [f"{prompt}\n\n{words[0]}", *words[1:]] if words and words[0] != "-" else [prompt, *words]

    def finish(self, question: str | None) -> str | None:
        """Return the question, put into its place.

        Raises:
            InvalidInput: there is none.
        """
        if not self._has_place:
            return question
        if question is None:
            raise self._refuse("it wants a text for $input: write it behind the options, or pipe it in")
        self._values["input"] = question
        return self._fill("prompt")

    @property
    def _has_place(self) -> bool:
        return "input" in Template(str(self._said.get("prompt", ""))).get_identifiers() and "input" not in self._values

    def _fill(self, key: str) -> str:
        text = Template(str(self._said[key]))
        missing = [name for name in text.get_identifiers() if name not in self._values]
        if missing:
            raise self._refuse(f"its {key} has ${missing[0]}, of which nothing is said: give -p {missing[0]} VALUE")
        if not text.is_valid():
            raise self._refuse(f"its {key} has a $ that begins no name; write $$ for one that is meant")
        return text.substitute(self._values)

    def _refuse(self, why: str) -> InvalidInput:
        return InvalidInput(f"template {self._name}: {why}")


def open_template(arguments: argparse.Namespace) -> ChatTemplate | None:
    """Return the template that the command line names, None if it names none.

    Raises:
        InvalidInput: there is none of that name, or it is none.
    """
    name: str | None = arguments.template
    if name is None:
        if arguments.param:
            raise InvalidInput("-p is for the names of a template: say which one, with -t NAME")
        return None
    is_path = "/" in name or name.endswith(_SUFFIXES)
    return ChatTemplate(_read(Path(name).expanduser() if is_path else _find_file(name)), name, arguments.param)


def save_template(arguments: argparse.Namespace) -> None:
    """Keep what the command line of `hocket chat` says as a template, in place of one of that name.

    Raises:
        InvalidInput: the name is none, there is nothing to keep, or it cannot be written.
    """
    name: str = arguments.save
    if not re.fullmatch(r"\w[\w.-]*", name) or name.endswith(_SUFFIXES):
        raise InvalidInput(f"--save {name}: a template's name has letters, digits, dots, - and _, and no suffix")
    if "-" in arguments.question:
        raise InvalidInput("--save keeps no text that is piped in; $input in the question is the place of one")
    said: dict[str, object] = {
        "prompt": " ".join(arguments.question),
        **{key: getattr(arguments, option) for key, option in _OPTIONS.items()},
        "options": dict(read_model_options(arguments).values),
        "defaults": dict(arguments.param),
        "extract": arguments.extract == "first",
        "extract_last": arguments.extract == "last",
    }
    kept = {key: value for key, value in said.items() if value}
    if not kept:
        raise InvalidInput(f"--save {name}: there is nothing to keep; give a question or options as well")
    path = _find_folder() / f"{name}.json"
    if (other := next(_find_files(name), path)) != path:
        raise InvalidInput(f"--save {name}: {other} is there; edit it, or choose another name")
    try:
        write_own_file(path, json.dumps(kept, indent=2, ensure_ascii=False) + "\n")
    except OSError as error:
        raise InvalidInput(f"--save {name}: {path} cannot be written: {error.strerror}") from None
    note(f"the template is kept in {path}; `hocket -t {name}` asks it")


def _write_value(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def list_templates() -> list[str]:
    """Return the names of the templates, sorted."""
    return sorted({path.stem for path in _find_files("*")})


def _find_folder() -> Path:
    return find_folder("CONFIG") / "templates"


def _find_files(name: str) -> Iterator[Path]:
    return (path for suffix in _SUFFIXES for path in _find_folder().glob(f"{name}{suffix}"))


def _find_file(name: str) -> Path:
    """Return the file of a template.

    Raises:
        InvalidInput: there is none of that name.
    """
    path = next(_find_files(escape(name)), None)
    if path is None:
        raise InvalidInput(f"there is no template {name!r}; {_hint(name)}")
    return path


def _hint(name: str) -> str:
    names = list_templates()
    return near_name_hint(name, names) if names else "`hocket --save NAME` with a question and options makes one"


def _read(path: Path) -> dict[str, object]:
    """Return what a template says.

    Raises:
        InvalidInput: it cannot be read, or says what no template does.
        MissingDependency: it is YAML, and PyYAML is not installed.
    """
    from hocket.prompts.prompt_files import read_file

    try:
        data: object = read_file(path)
    except (OSError, ValueError) as error:
        reason = (isinstance(error, OSError) and error.strerror) or str(error)
        raise InvalidInput(f"the template {path} cannot be read: {reason}") from None
    if isinstance(data, str):  # as `llm` has it
        data = {"prompt": data}
    if not isinstance(data, dict):
        raise InvalidInput(f'the template {path} is no object; it looks like {{"prompt": "Summarise: $input"}}')
    said: dict[str, object] = {}
    for key, value in cast("dict[object, object]", data).items():
        name = _ALIASES.get(str(key), str(key))
        if name not in _KINDS:
            raise InvalidInput(f"the template {path} has {name!r}; {near_name_hint(name, _KINDS)}")
        if not isinstance(value, _KINDS[name]):
            raise InvalidInput(f"the template {path}: {name} is {value!r}, which will not do")
        said[name] = value
    return said
