"""Templates as text: how variables are found in them and filled in.

The default format is Python's ``{name}``, with conversions and format specs (``{price:.2f}``, ``{name!r}``), and braces
of the text's own written twice. A field is a name and nothing else: ``{x.y}`` and ``{x[0]}`` are refused when the template
is made, since whoever may write a template would read any attribute of any value with them. Values are put in as they
are: what looks like a field in a value stays text.

A template is read once, and what was read is kept; prompts that share a template share it.
"""

import functools
import re
import string
import warnings
from collections.abc import Callable, Iterable, Mapping
from types import ModuleType
from typing import TYPE_CHECKING, Literal, NamedTuple, NoReturn

import hocket.prompts.mustache as mustache
from hocket.errors import InvalidInput, MissingDependency
from hocket.errors.hints import excerpt

if TYPE_CHECKING:
    from hocket.prompts.jinja2_sandbox import BoundedEnvironment

__all__ = [
    "PromptTemplateFormat",
    "Template",
    "check_valid_template",
    "compile_template",
    "get_template_variables",
    "jinja2_formatter",
    "mustache_formatter",
    "mustache_template_vars",
    "render",
    "validate_jinja2",
]

PromptTemplateFormat = Literal["f-string", "jinja2", "mustache"]
"""The languages of templates: Python's own braces, and with an extra of each Jinja2 and Mustache."""

WIDEST = 9999  # characters that a format spec may ask for: {x:>9999999999} would fill the memory

_DIGITS = re.compile(rf"\d{{{len(str(WIDEST)) + 1},}}")
_FORBIDDEN = re.compile(r"[.\[\]{}()\"'\n]")


class Template(NamedTuple):
    """A template that has been read.

    Attributes:
        variables: their names, sorted.
        render: fills them in; all must be given.
    """

    variables: tuple[str, ...]
    render: Callable[[Mapping[str, object]], str]


def compile_template(template: str, template_format: str) -> Template:
    """Return ``template`` as it was read.

    Raises:
        InvalidInput: it is no template of this format, or there is no such format.
        MissingDependency: the format needs a package that is not installed.
    """
    reader = _READERS.get(template_format)
    if reader is None:
        raise InvalidInput(f"template_format is {template_format!r}; it must be 'f-string', 'jinja2' or 'mustache'")
    return reader(template)


def render(template: str, template_format: str, values: Mapping[str, object]) -> str:
    """Return ``template`` with its variables filled in; those that it does not have are not looked at."""
    return compile_template(template, template_format).render(values)


def get_template_variables(template: str, template_format: str = "f-string") -> list[str]:
    """Return the names of the variables of ``template``, sorted.

    Raises:
        InvalidInput: it is no template of this format.
    """
    return list(compile_template(template, template_format).variables)


def check_valid_template(template: str, template_format: str, input_variables: Iterable[str]) -> None:
    """Refuse a template whose variables are not exactly ``input_variables``.

    Raises:
        InvalidInput: they are others, or it is no template of this format.
    """
    has, given = set(get_template_variables(template, template_format)), set(input_variables)
    if has != given:
        raise InvalidInput(
            f"the template has the variables {sorted(has)}, and input_variables says {sorted(given)}: "
            f"{excerpt(template, 120)}"
        )


def jinja2_formatter(template: str, /, **kwargs: object) -> str:
    """Return a Jinja2 template with its variables filled in, in Jinja2's sandbox: see `PromptTemplate`."""
    return render(template, "jinja2", kwargs)


def mustache_formatter(template: str, /, **kwargs: object) -> str:
    """Return a mustache template with its variables filled in; those that are missing are empty."""
    return render(template, "mustache", kwargs)


def mustache_template_vars(template: str) -> set[str]:
    """Return the names of the variables of a mustache template; of ``{{a.b}}`` it is ``a``."""
    return set(get_template_variables(template, "mustache"))


def validate_jinja2(template: str, input_variables: list[str]) -> None:
    """Warn of variables that a Jinja2 template has and ``input_variables`` has not, or the other way round."""
    has, given = set(get_template_variables(template, "jinja2")), set(input_variables)
    for what, names in (("has no name for", has - given), ("names, and the template has not,", given - has)):
        if names:
            warnings.warn(f"input_variables {what} {', '.join(sorted(names))}: {excerpt(template, 120)}", stacklevel=3)


@functools.lru_cache(maxsize=1024)
def _read_f_string(template: str) -> Template:
    try:
        fields = list(string.Formatter().parse(template))
    except ValueError as error:
        raise InvalidInput(
            f"the template cannot be read: {error}. A brace that is text is written twice, {{{{ or }}}}: "
            f"{excerpt(template, 120)}"
        ) from None
    parts: list[str | _Field] = []
    for literal, name, spec, conversion in fields:
        parts.append(literal)
        if name is not None:
            _check_field(template, name, spec or "", conversion)
            parts.append(_Field(name, spec or "", conversion))
    names = tuple(sorted({part.name for part in parts if isinstance(part, _Field)}))

    def fill(values: Mapping[str, object]) -> str:
        return "".join([part if isinstance(part, str) else part.text(values) for part in parts])

    return Template(names, fill)


class _Field(NamedTuple):
    name: str
    spec: str
    conversion: str | None

    def text(self, values: Mapping[str, object]) -> str:
        value = values[self.name]
        if self.conversion is not None:
            value = _CONVERSIONS[self.conversion](value)
        elif type(value) is str and not self.spec:
            return value
        try:
            return format(value, self.spec)
        except (TypeError, ValueError) as error:
            kind = type(value).__name__
            raise InvalidInput(
                f"{{{self.name}}} cannot be formatted as {self.spec!r}: it is {kind}: {error}"
            ) from error


_CONVERSIONS: dict[str, Callable[[object], str]] = {"r": repr, "s": str, "a": ascii}


def _check_field(template: str, name: str, spec: str, conversion: str | None) -> None:
    def refuse(reason: str) -> NoReturn:
        raise InvalidInput(
            f"the field {{{name}}} {reason}. Braces that are text are written twice, {{{{ and }}}}: {excerpt(template, 120)}"
        )

    if not name or name != name.strip() or name[0].isdigit() or _FORBIDDEN.search(name):
        refuse("is not a plain name: attributes, indexes, numbers and quotes are not allowed")
    if conversion is not None and conversion not in _CONVERSIONS:
        refuse(f"has the conversion !{conversion}; it must be !r, !s or !a")
    if "{" in spec or "}" in spec:
        refuse("has a field inside its format spec")
    if _DIGITS.search(spec):
        refuse(f"asks for more than {WIDEST} characters")


@functools.lru_cache(maxsize=1024)
def _read_jinja2(template: str) -> Template:
    sandbox, environment = _load_jinja2()
    import jinja2

    try:
        compiled = environment.from_string(template)
        names = tuple(sandbox.find_variables(environment, template))
    except jinja2.TemplateError as error:
        raise InvalidInput(f"the Jinja2 template cannot be read: {error}: {excerpt(template, 120)}") from error

    def fill(values: Mapping[str, object]) -> str:
        pieces: list[str] = []
        length = 0
        try:
            for piece in compiled.generate(values):
                length += len(piece)
                if length > sandbox.LARGEST:
                    raise ValueError(f"its text would have more than {sandbox.LARGEST:,} characters")
                pieces.append(piece)
        except Exception as error:  # of the template, the sandbox, or a value that it calls
            raise InvalidInput(f"the Jinja2 template cannot be filled in: {error}: {excerpt(template, 120)}") from error
        return "".join(pieces)

    return Template(names, fill)


@functools.cache
def _load_jinja2() -> "tuple[ModuleType, BoundedEnvironment]":
    try:
        from hocket.prompts import jinja2_sandbox
    except ImportError:
        raise MissingDependency(
            "Jinja2 templates need Jinja2, which is not installed: pip install 'hocket[jinja2]'"
        ) from None
    return jinja2_sandbox, jinja2_sandbox.BoundedEnvironment()


@functools.lru_cache(maxsize=1024)
def _read_mustache(template: str) -> Template:
    fill = mustache.read_template(template)
    return Template(tuple(sorted(mustache.find_names(template))), fill)


_READERS: dict[str, Callable[[str], Template]] = {
    "f-string": _read_f_string,
    "jinja2": _read_jinja2,
    "mustache": _read_mustache,
}
