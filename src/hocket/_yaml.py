"""YAML out of files, which may be a stranger's: read in bounded time and memory, by the package PyYAML.

An alias stands for what it names. So some lines may stand for millions of values, or for themselves, and a reader of
all of them afterwards, to show or to check them, does not come to an end. No error repeats a line: it may hold a key.
"""

from collections import Counter
from typing import Any, cast

from hocket.errors import InvalidInput, MissingDependency
from hocket.errors.hints import excerpt

__all__ = ["MOST_VALUES", "load_package", "read_yaml"]

MOST_VALUES = 100_000
"""Values in a text, each alias counted as what it stands for."""


def load_package(needed_by: str) -> Any:
    """Return the package ``yaml``, which has no types here.

    Raises:
        MissingDependency: it is not installed; the text says what needs it.
    """
    try:
        import yaml  # pyright: ignore[reportMissingModuleSource]
    except ImportError as error:
        missing = f"{needed_by} needs PyYAML, which is not installed: pip install 'hocket[yaml]'"
        raise MissingDependency(missing) from error
    return cast(Any, yaml)


def read_yaml(text: str, needed_by: str, first_line: int = 1) -> object:
    """Return what a text of YAML says, as plain data.

    Args:
        text: it.
        needed_by: what it is read for, for the error if PyYAML is missing.
        first_line: the number of its first line in its file.

    Raises:
        InvalidInput: it is no plain YAML, has a key twice in one place, or stands for too much; "line 3: ...".
        MissingDependency: PyYAML is not installed.
    """
    yaml = load_package(needed_by)
    try:
        _count_values(yaml.compose(text, yaml.SafeLoader), {}, first_line)
        return cast(object, yaml.safe_load(text))
    except InvalidInput:
        raise
    except yaml.YAMLError as error:
        mark: Any = getattr(error, "problem_mark", None)
        reason = f"line {first_line + mark.line}: {getattr(error, 'problem', None)}" if mark else "it is no YAML"
    except Exception:  # of whatever kind: a date that is none, a number without digits, nested without end
        reason = "it is no text of plain YAML"
    raise InvalidInput(reason)


def _count_values(node: Any, sizes: dict[int, int], first_line: int) -> int:
    """Return how many values a node of YAML stands for.

    Raises:
        InvalidInput: they are too many, one is within itself, or a mapping has a key twice.
    """
    if node is None or isinstance(node.value, str):
        return 1
    size = sizes.get(id(node))
    line = first_line + node.start_mark.line
    if size is None:
        sizes[id(node)] = MOST_VALUES  # until it is known: within itself it has no end
        pairs = node.value if node.id == "mapping" else [(one,) for one in node.value]
        size = sizes[id(node)] = 1 + sum(_count_values(one, sizes, first_line) for pair in pairs for one in pair)
        keys = [str(pair[0].value) for pair in pairs if len(pair) > 1]
        for key, count in Counter(keys).items():
            if count > 1:
                raise InvalidInput(f"line {line}: the key {excerpt(key)} is there twice")
    if size > MOST_VALUES:
        raise InvalidInput(f"line {line}: it stands for more than {MOST_VALUES:,} values")
    return size
