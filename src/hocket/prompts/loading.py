"""Prompts out of files that `BasePromptTemplate.save` wrote, or LangChain's. LangChain's names.

A file may name others: the text of a template, examples, the prompt of an example. It may be a stranger's, so unless the
caller trusts it those lie below the working directory, and templates are no Jinja2.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from hocket.errors import InvalidInput
from hocket.messages.content import Fields, FieldsView
from hocket.prompts.base import BasePromptTemplate
from hocket.prompts.few_shot import FewShotPromptTemplate
from hocket.prompts.message import PromptTemplate, StringPromptTemplate
from hocket.prompts.prompt_files import read_file

__all__ = ["load_prompt", "load_prompt_from_config"]

_LANGCHAINS_OWN = ("input_types", "output_parser")
"""What LangChain writes, and no prompt of hocket's has."""


def load_prompt(
    path: str | Path, encoding: str | None = None, *, allow_dangerous_paths: bool = False
) -> BasePromptTemplate[str]:
    """Return the prompt that a file holds.

    Args:
        path: the file, ``.json``, ``.yaml`` or ``.yml`` (with the extra ``yaml``).
        encoding: of the file; None: UTF-8.
        allow_dangerous_paths: see `load_prompt_from_config`.

    Raises:
        InvalidInput: it holds no prompt, or one that is not read from files.
        MissingDependency: it is YAML, and PyYAML is not installed.
        OSError: it cannot be read.
    """
    if str(path).startswith("lc://"):
        raise InvalidInput(f"{path}: prompts are not fetched; hocket.prompts.hub has the best known ones")
    config = _check_mapping(read_file(Path(path), encoding), str(path))
    return load_prompt_from_config(config, allow_dangerous_paths=allow_dangerous_paths)


def load_prompt_from_config(config: FieldsView, *, allow_dangerous_paths: bool = False) -> BasePromptTemplate[str]:
    """Return the prompt that a mapping describes.

    Args:
        config: the arguments of `PromptTemplate`, or with ``_type`` "few_shot" of `FewShotPromptTemplate`. Instead of
            ``template``, ``prefix``, ``suffix`` and ``example_prompt`` there may be the path of a file
            (``template_path``), and of examples, too.
        allow_dangerous_paths: take files from everywhere. Else they lie below the working directory.

    Raises:
        InvalidInput: it describes no prompt, or one that is not read from files.
        MissingDependency: a file is YAML, and PyYAML is not installed.
        OSError: a file cannot be read.
    """
    reader = _Reader(allow_dangerous_paths)
    try:
        return reader.read(_check_mapping(config, "the configuration of a prompt"))
    except RecursionError:
        raise InvalidInput("the prompt of its examples is itself, or is nested too deep") from None


class _Reader:
    """Reads prompts out of mappings."""

    def __init__(self, takes_any_path: bool) -> None:
        self._takes_any_path = takes_any_path

    def read(self, config: FieldsView) -> StringPromptTemplate:
        """Return the prompt that a mapping describes."""
        fields = dict(config)
        kind = fields.pop("_type", "prompt")
        parser = fields.get("output_parser")
        if parser and parser != {"_type": "default"}:
            raise InvalidInput("the prompt has an output parser, which prompts of hocket do not: write prompt | parser")
        for name in _LANGCHAINS_OWN:
            fields.pop(name, None)
        if fields.get("template_format") == "jinja2":
            raise InvalidInput("a Jinja2 template can run code: none is read from a file; write PromptTemplate(...)")
        if kind == "prompt":
            return self._read_template(fields)
        if kind == "few_shot":
            return self._read_few_shot(fields)
        raise InvalidInput(
            f"a prompt of type {kind!r} is not read from such a file: hocket.load.dumps and loads write and read it"
        )

    def _read_template(self, fields: Fields) -> PromptTemplate:
        self._read_text(fields, "template")
        return PromptTemplate(**fields)

    def _read_few_shot(self, fields: Fields) -> FewShotPromptTemplate:
        self._read_text(fields, "prefix")
        self._read_text(fields, "suffix")
        fields.pop("validate_template", None)  # LangChain's; here the templates say what their variables are
        example_prompt = self._take(fields, "example_prompt", "example_prompt_path")
        if isinstance(example_prompt, Path):
            example_prompt = read_file(example_prompt)
        fields["example_prompt"] = self.read(_check_mapping(example_prompt, "example_prompt"))
        if isinstance(fields.get("examples"), str):
            fields["examples"] = read_file(self._check_path(fields["examples"]))
        if not isinstance(fields.get("examples"), list):
            raise InvalidInput("examples are a list, or the path of a file that holds one")
        return FewShotPromptTemplate(**fields)

    def _read_text(self, fields: Fields, name: str) -> None:
        """Put the text of a file in its place."""
        if f"{name}_path" not in fields:
            return
        path = self._take(fields, name, f"{name}_path")
        if path.resolve().suffix != ".txt":
            raise InvalidInput(f"{path} is no template: its suffix is .txt")
        fields[name] = path.read_text(encoding="utf-8")

    def _take(self, fields: Fields, name: str, path_name: str) -> Any:
        """Return what is under one of two names, of which the second is for a path."""
        if name in fields and path_name in fields:
            raise InvalidInput(f"{name} and {path_name} are both given: give one of them")
        return self._check_path(fields.pop(path_name)) if path_name in fields else fields.pop(name, None)

    def _check_path(self, given: str) -> Path:
        path = Path(given)
        lies_below = not path.is_absolute() and Path(os.path.realpath(path)).is_relative_to(os.path.realpath("."))
        if not self._takes_any_path and (".." in path.parts or not lies_below):
            raise InvalidInput(
                f"{given} lies outside of the working directory: pass allow_dangerous_paths=True if you trust the file "
                "that names it"
            )
        return path


def _check_mapping(config: object, name: str) -> FieldsView:
    if not isinstance(config, Mapping):
        raise InvalidInput(f"{name} describes no prompt: it is a mapping, not {type(config).__name__}")
    return cast(FieldsView, config)
