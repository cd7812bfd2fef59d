"""Objects that the command line names as ``module:name``, of a module in the working directory or an installed one, and
functions that it gives as code.
"""

import contextlib
import importlib
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, cast

from hocket.errors import InvalidInput
from hocket.errors.hints import near_name_hint

if TYPE_CHECKING:
    from hocket.tools import BaseTool

__all__ = ["load_functions", "load_object", "load_tools"]

_EXAMPLE = "'def double(x: int) -> int: return 2 * x'"


def load_object(name: str, what: str) -> object:
    """Return what ``module:name`` means.

    What the module prints when it is imported goes to standard error: standard output may be a protocol's.

    Args:
        name: of the module, and of what is in it.
        what: it is expected to be, for the text of an error.

    Raises:
        InvalidInput: there is no such module, or no such name in it.
    """
    module_name, _, path = name.partition(":")
    if not module_name or not path:
        raise InvalidInput(f"{name!r} names no {what}; it looks like module:name")
    if (here := os.getcwd()) not in sys.path:  # as `python -m` has it
        sys.path.insert(0, here)
    try:
        with contextlib.redirect_stdout(sys.stderr):
            found: object = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name != module_name.partition(".")[0] and error.name != module_name:
            raise
        raise InvalidInput(f"there is no module {module_name!r}, neither here nor installed") from None
    for step in path.split("."):
        if not hasattr(found, step):
            held = {one: getattr(found, one) for one in dir(found) if not one.startswith("_")}
            code = {one for one, value in held.items() if isinstance(value, type | FunctionType | ModuleType)}
            known = [one for one in held if one not in code or getattr(held[one], "__module__", None) == module_name]
            raise InvalidInput(f"{module_name} has no {path!r}; {near_name_hint(step, known)}")
        found = getattr(found, step)
    return found


def load_tools(name: str) -> "list[BaseTool | Callable[..., object]]":
    """Return the tool, the function or the list of them that ``module:name`` means.

    Raises:
        InvalidInput: see `load_object`.
    """
    found = load_object(name, "tools")
    if isinstance(found, Sequence) and not isinstance(found, str):
        return [*cast("Sequence[BaseTool | Callable[..., object]]", found)]
    return [cast("BaseTool | Callable[..., object]", found)]


def load_functions(code: str) -> "list[BaseTool | Callable[..., object]]":
    """Return the public functions that code defines, and its tools, in its order; what it only imports is none of them.

    Args:
        code: of Python, or the name of a file that has it.

    Raises:
        InvalidInput: the file cannot be read, the code does not run, or it defines no function.
    """
    from hocket.tools import BaseTool

    place = Path(code).expanduser()
    is_file = "\n" not in code and (code.endswith(".py") or ("(" not in code and place.is_file()))
    name = str(place) if is_file else "--functions"
    module = ModuleType(f"<{name}>")
    sys.modules[module.__name__] = module  # where annotations that are texts are looked up
    try:
        with contextlib.redirect_stdout(sys.stderr):
            exec(compile(place.read_text() if is_file else code, name, "exec"), module.__dict__)
    except OSError as error:
        raise InvalidInput(f"--functions {name}: {error.strerror}") from None
    except Exception as error:
        raise InvalidInput(f"--functions: the code does not run: {type(error).__name__}: {error}") from error
    found: list[BaseTool | Callable[..., object]] = [
        one
        for word, one in vars(module).items()
        if not word.startswith("_")
        and (isinstance(one, BaseTool) or (isinstance(one, FunctionType) and one.__module__ == module.__name__))
    ]
    if not found:
        raise InvalidInput(f"--functions: no public function is defined; it is a file, or code such as {_EXAMPLE}")
    return found
