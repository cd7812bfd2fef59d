"""Questions to a store as objects: what is looked for, which documents may answer, and how many. LangChain's names.

They say nothing of a store's own language: a `Visitor` translates them. `hocket.vectorstores.FilterTranslator` does so for
the stores of hocket.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from enum import StrEnum
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict

from hocket.errors import InvalidInput

__all__ = [
    "Comparator",
    "Comparison",
    "Expr",
    "FilterDirective",
    "Operation",
    "Operator",
    "StructuredQuery",
    "Visitor",
]


class Operator(StrEnum):
    """How conditions are joined."""

    AND = "and"
    OR = "or"
    NOT = "not"


class Comparator(StrEnum):
    """How the value of an attribute is compared."""

    EQ = "eq"
    NE = "ne"
    GT = "gt"
    GTE = "gte"
    LT = "lt"
    LTE = "lte"
    CONTAIN = "contain"
    LIKE = "like"
    IN = "in"
    NIN = "nin"


class Visitor(ABC):
    """Translates expressions into the language of a store: a method for each kind.

    Attributes:
        allowed_comparators: those that the store has; None: all.
        allowed_operators: those that the store has; None: all.
    """

    allowed_comparators: Sequence[Comparator] | None = None
    allowed_operators: Sequence[Operator] | None = None

    def _validate_func(self, func: Operator | Comparator) -> None:
        """Refuse what the store does not have; a translator calls it first.

        Raises:
            InvalidInput: it is not among the allowed ones.
        """
        allowed = self.allowed_operators if isinstance(func, Operator) else self.allowed_comparators
        if allowed is not None and func not in allowed:
            known = ", ".join(one.value for one in allowed)
            raise InvalidInput(f"{type(self).__name__} does not translate {func.value!r}; it translates {known}")

    @abstractmethod
    def visit_operation(self, operation: "Operation") -> object:
        """Return the translation of joined conditions."""

    @abstractmethod
    def visit_comparison(self, comparison: "Comparison") -> object:
        """Return the translation of one condition."""

    @abstractmethod
    def visit_structured_query(self, structured_query: "StructuredQuery") -> object:
        """Return the translation of a whole query."""


class Expr(BaseModel):
    """Anything that a visitor translates."""

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid")

    def accept(self, visitor: Visitor) -> Any:
        """Return what the visitor's method for this class returns: ``visit_structured_query`` for a `StructuredQuery`."""
        words = re.sub(r"(?<!^)(?=[A-Z])", "_", type(self).__name__).lower()
        return getattr(visitor, f"visit_{words}")(self)


class FilterDirective(Expr, ABC):
    """A condition on the attributes of a document."""


class Comparison(FilterDirective):
    """A condition on one attribute.

    Args:
        comparator: how it is compared.
        attribute: its name.
        value: with what.
    """

    comparator: Comparator
    attribute: str
    value: Any

    def __init__(self, comparator: Comparator, attribute: str, value: object, **fields: object) -> None:
        super().__init__(**{"comparator": comparator, "attribute": attribute, "value": value, **fields})


class Operation(FilterDirective):
    """Conditions, joined.

    Args:
        operator: how they are joined.
        arguments: the conditions.
    """

    operator: Operator
    arguments: list[FilterDirective]

    def __init__(self, operator: Operator, arguments: Sequence[FilterDirective], **fields: object) -> None:
        super().__init__(**{"operator": operator, "arguments": arguments, **fields})


class StructuredQuery(Expr):
    """A question to a store.

    Args:
        query: what is looked for.
        filter: the condition that a document must fulfil; None: any may answer.
        limit: how many documents are wanted; None: as many as the store finds.
    """

    query: str
    filter: FilterDirective | None
    limit: int | None

    def __init__(self, query: str, filter: FilterDirective | None, limit: int | None = None, **fields: object) -> None:
        super().__init__(**{"query": query, "filter": filter, "limit": limit, **fields})
