"""Names of a package that are loaded when they are first asked for (PEP 562), so that an import costs what is used."""

import importlib
import sys
from collections.abc import Callable, Iterable, Mapping
from itertools import accumulate
from typing import Any, TypeAlias

__all__ = ["Loader", "loader"]

Loader: TypeAlias = Callable[[str], Any]
"""The ``__getattr__`` of a package; a name may be of any type."""


_CLASSIC: Mapping[str, tuple[str, str]] = {
    "hocket": ("conversation", "ChatHistoryManager MessageAdapter"),
    "hocket.agents": ("agents", "FinalAnswerStream"),
    "hocket.agents.classic": (
        "agents",
        "AgentExecutor ErrorHandling Plan PlanningAgent ToolAgentAction create_react_agent create_tool_calling_agent",
    ),
    "hocket.chains": (
        "chains",
        "BaseCombineDocumentsChain Chain ChainOptions ConversationChain ConversationalRetrievalChain LLMChain "
        "LLMMathChain MapReduceDocumentsChain MapRerankDocumentsChain RefineDocumentsChain RetrievalQA SQLDatabase "
        "SQLDatabaseChain SequentialChain SimpleSequentialChain StuffDocumentsChain TransformChain",
    ),
    "hocket.conversation": ("conversation", "ChatHistoryManager MessageAdapter"),
    "hocket.example_selectors": (
        "example_selectors",
        "BaseExampleSelector LengthBasedExampleSelector MaxMarginalRelevanceExampleSelector "
        "SemanticSimilarityExampleSelector sorted_values",
    ),
    "hocket.memory": (
        "memory",
        "BaseChatMemory BaseMemory ConversationBufferMemory ConversationBufferWindowMemory "
        "ConversationSummaryBufferMemory ConversationSummaryMemory ConversationTokenBufferMemory SUMMARY_PROMPT",
    ),
    "hocket.output_parsers": (
        "output_parsers",
        "BooleanOutputParser CombiningOutputParser JsonKeyOutputFunctionsParser JsonOutputFunctionsParser "
        "OutputFunctionsParser PydanticAttrOutputFunctionsParser PydanticOutputFunctionsParser RegexDictParser "
        "RegexParser ResponseSchema StructuredOutputParser",
    ),
}
"""Package → the room of `hocket.classic` that names have moved to from there, and these names."""


class _UnknownName(AttributeError):
    """Says what name was meant, when it is printed: an import statement asks a package for submodules, too."""

    def __init__(self, package: str, name: str, known: Iterable[str], explain: Callable[[str], str]) -> None:
        super().__init__(f"module {package!r} has no attribute {name!r}")
        self._name, self._known, self._explain = name, known, explain

    def __str__(self) -> str:
        from hocket.errors.hints import (
            near_name,
        )  # the tree of errors takes a millisecond that most imports need not pay

        near = near_name(self._name, self._known)
        hint = f"did you mean {near!r}?" if near else self._explain(self._name)
        return f"{super().__str__()}; {hint}" if hint else super().__str__()


def loader(package: str, offers: Mapping[str, str], explain: Callable[[str], str] = lambda name: "") -> Loader:
    """Return the ``__getattr__`` of a package, and have ``dir()`` show what is in its ``__all__``, loaded or not.

    Args:
        package: its name.
        offers: where names live: a module's name below the package (with a dot in front: beside the package), and the
            names that it offers, separated by blanks. Those that are not in ``__all__`` are loaded, and not shown.
        explain: returns what to say of a name that is unknown and near no known one; "": nothing.
    """
    homes = {name: home for home, names in offers.items() for name in names.split()}

    def show() -> list[str]:
        own = vars(sys.modules[package])
        return sorted(({*own} - homes.keys()) | {*own.get("__all__", ())})

    def load(name: str) -> Any:
        home = homes.get(name)
        if home is None:
            room, moved = _CLASSIC.get(package, ("", ""))
            if name in moved.split():
                # No AttributeError: an import statement would not show its text.
                raise ImportError(f"{name} has moved: from hocket.classic.{room} import {name}", name=package)
            raise _UnknownName(package, name, homes, explain)
        up, around = len(home) - len(home.lstrip(".")), package.split(".")
        path = [*around[: len(around) - up], *home[up:].split(".")]
        # Outermost first: of two threads that import a package and its module at once, each waits for the other, and
        # Python ends the wait with an error (`_DeadlockError`) in one of them.
        *_, module = map(importlib.import_module, accumulate(path, "{}.{}".format))
        value = getattr(module, name)
        vars(sys.modules[package])[name] = value
        return value

    vars(sys.modules[package]).setdefault("__dir__", show)
    return load
