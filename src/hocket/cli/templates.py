"""``hocket templates``, and what ``hocket chat --template`` does: a question with its options, kept under a name.

A template is a file of JSON or YAML in the user's folder of settings, with the keys that ``llm``'s templates have. It says
what the command line leaves out: an option that is given there goes before it.
"""

import argparse
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from glob import escape
from pathlib import Path
from string import Template
from typing import cast

from hocket.cli.arguments import OneLineParser
from hocket.cli.folders import find_folder, write_own_file
from hocket.cli.model_options import FLAGS, parse_option, read_model_options
from hocket.cli.output import note, print_lines
from hocket.cli.standard_input import is_piped
from hocket.errors import InvalidInput
from hocket.errors.hints import near_name_hint

__all__ = ["HELP", "configure", "list_templates", "run", "save_template", "use_template"]

HELP = "Show the templates that `hocket chat --save NAME` keeps, or remove one."

_LIST = "List the templates, a line each."
_SHOW = "Print a template."
_PATH = "Print the folder of the templates: files of JSON or YAML."
_REMOVE = "Delete a template."

_KINDS: Mapping[str, type | tuple[type, ...]] = {
    **dict.fromkeys(("prompt", "system", "model", "base_url"), str),
    **dict.fromkeys(("options", "defaults"), dict),
    **dict.fromkeys(("tools", "fragments", "attachments"), list),
    **dict.fromkeys(("extract", "extract_last"), bool),
    "schema": (str, dict),
    "functions": (str, list),
}
# Each is called as the option of `hocket chat` is that it stands for.
_OPTIONS = ("system", "model", "base_url", "schema", "tools", "functions", "fragments", "attachments")
_SUFFIXES = (".json", ".yaml", ".yml")


def configure(parser: OneLineParser) -> None:
    """Add the arguments of this subcommand."""
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for name, text in (("list", _LIST), ("show", _SHOW), ("path", _PATH), ("remove", _REMOVE)):
        command = commands.add_parser(name, help=text, description=text)
        command.set_defaults(act=name)
        if name in ("show", "remove"):
            command.declare("template NAME", "of the template")


def run(arguments: argparse.Namespace) -> None:
    """Do what was asked for.

    Raises:
        InvalidInput: there is no such template, or it cannot be read or removed.
    """
    try:
        match arguments.act:
            case "list":
                print_lines(list_templates())
            case "path":
                print_lines([str(_find_folder())])
            case "show":
                print_lines([_find_file(arguments.template).read_text("utf-8", errors="replace").rstrip("\n")])
            case _:
                _find_file(arguments.template).unlink()
    except OSError as error:
        raise InvalidInput(f"{error.filename}: {error.strerror}") from None


def use_template(arguments: argparse.Namespace, read: Callable[[Sequence[str]], str | None]) -> str | None:
    """Set the options of `hocket chat` that the command line leaves out, and return the question.

    Args:
        arguments: of the command line, with a template's name, or the path of its file.
        read: reads a question from the words of the command line, and what is piped in; None: there is none.

    Raises:
        InvalidInput: there is no such template, or it is none; a name in it has no value; or it wants a question.
        MissingDependency: it is YAML, and PyYAML is not installed.
    """
    name: str = arguments.template
    said = _read(Path(name).expanduser() if "/" in name or name.endswith(_SUFFIXES) else _find_file(name))
    values = {**cast("dict[str, object]", said.get("defaults", {})), **dict(arguments.param)}
    prompt = said.get("prompt")
    known = {one for key in ("prompt", "system") for one in Template(str(said.get(key, ""))).get_identifiers()}
    if (unknown := next((one for one, _ in arguments.param if one not in known), None)) is not None:
        raise InvalidInput(f"template {name} has no ${unknown}; {near_name_hint(unknown, sorted(known))}")
    if "system" in said:
        said["system"] = _fill(said["system"], values, name)
    _complete(arguments, said, name)
    if prompt is None:
        return read(arguments.question)
    words: list[str] = arguments.question
    if "input" not in values and "input" in Template(str(prompt)).get_identifiers():  # the place of a text
        text = read(words) if words or is_piped() else None
        if not text:
            raise InvalidInput(f"template {name} wants a text for $input: write it after the options, or pipe it in")
        return _fill(prompt, {**values, "input": text}, name)
    text = _fill(prompt, values, name)
    return read([f"{text}\n\n{words[0]}", *words[1:]] if words and words[0] != "-" else [text, *words])


def _complete(arguments: argparse.Namespace, said: Mapping[str, object], name: str) -> None:
    options = vars(arguments)
    if arguments.model is not None:  # it need not be one of the template's server
        said = {key: value for key, value in said.items() if key != "base_url"}
    for key in _OPTIONS:
        value, given = said.get(key), options[key]
        if isinstance(given, list):
            first = [value] if isinstance(value, str) else cast("list[str]", value or [])
            options[key] = [*first, *cast("list[str]", given)]
        elif given is None and value is not None:
            options[key] = _write(value)
    if arguments.extract is None and not arguments.json:
        arguments.extract = "last" if said.get("extract_last") else "first" if said.get("extract") else None
    given = {one for one, _ in arguments.option} | {flag for flag in FLAGS if options[flag] is not None}
    for key, value in cast("dict[str, object]", said.get("options", {})).items():
        try:
            parsed = parse_option(f"{key}={_write(value)}")
        except argparse.ArgumentTypeError as error:
            raise InvalidInput(f"template {name}: {error}") from None
        if parsed[0] not in given:
            arguments.option = [*arguments.option, parsed]


def _fill(text: object, values: Mapping[str, object], name: str) -> str:
    template = Template(str(text))
    missing = [one for one in template.get_identifiers() if one not in values]
    if missing:
        raise InvalidInput(f"template {name} has ${missing[0]}, of which nothing is said: give -p {missing[0]} VALUE")
    if not template.is_valid():
        raise InvalidInput(f"template {name} has a $ that begins no name; write $$ for one that is meant")
    return template.substitute(values)


def _write(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def save_template(arguments: argparse.Namespace) -> None:
    """Keep what the command line of `hocket chat` says as a template, in place of one of that name.

    Raises:
        InvalidInput: the name is none, there is nothing to keep, or it cannot be written.
    """
    name: str = arguments.save
    if not re.fullmatch(r"\w[\w-]*", name):
        raise InvalidInput(f"--save {name}: a template's name has letters, digits, - and _")
    if arguments.template is not None:
        raise InvalidInput("--save keeps what the command line says, and -t takes another template; give one of them")
    if "-" in arguments.question:
        raise InvalidInput("--save keeps no text that is piped in; $input in the question is the place of one")
    said: dict[str, object] = {
        "prompt": " ".join(arguments.question),
        **{key: getattr(arguments, key) for key in _OPTIONS},
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


def list_templates() -> list[str]:
    """Return the names of the templates, sorted."""
    return sorted({path.stem for path in _find_files("*")})


def _find_folder() -> Path:
    return find_folder("CONFIG") / "templates"


def _find_files(name: str) -> Iterator[Path]:
    return (path for suffix in _SUFFIXES for path in _find_folder().glob(f"{name}{suffix}"))


def _find_file(name: str) -> Path:
    path = next(_find_files(escape(name)), None)
    if path is None:
        names = list_templates()
        hint = near_name_hint(name, names) if names else "`hocket --save NAME` with a question and options makes one"
        raise InvalidInput(f"there is no template {name!r}; {hint}")
    return path


def _read(path: Path) -> dict[str, object]:
    from hocket.prompts.prompt_files import read_file

    try:
        data: object = read_file(path)
    except (OSError, ValueError) as error:
        raise InvalidInput(f"the template {path} cannot be read: {error}") from None
    if isinstance(data, str):  # as `llm` has it
        data = {"prompt": data}
    if not isinstance(data, dict):
        raise InvalidInput(f'the template {path} is no object; it looks like {{"prompt": "Summarise: $input"}}')
    said = {str(key): value for key, value in cast("dict[object, object]", data).items()}
    if "schema_object" in said:  # as `llm` calls it
        said["schema"] = said.pop("schema_object")
    for key, value in said.items():
        if key not in _KINDS:
            raise InvalidInput(f"the template {path} has {key!r}; {near_name_hint(key, _KINDS)}")
        is_mixed = isinstance(value, list) and not all(isinstance(one, str) for one in cast("list[object]", value))
        if is_mixed or not isinstance(value, _KINDS[key]):
            raise InvalidInput(f"the template {path} has {value!r} for {key}, which is of another kind")
    return said
