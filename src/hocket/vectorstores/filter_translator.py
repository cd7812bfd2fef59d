"""`hocket.structured_query` in the language of filters that all stores of hocket have."""

from collections.abc import Mapping, Sequence
from typing import cast

from hocket.errors import InvalidInput
from hocket.structured_query import Comparator, Comparison, Operation, Operator, StructuredQuery, Visitor

__all__ = ["FilterTranslator"]


class FilterTranslator(Visitor):
    """Turns conditions into the filters of `VectorStore`.

    ``contain`` and ``like`` have no equal there. A date, ``{"type": "date", "date": "2026-11-23"}``, is compared by its
    text.

    Example:
        >>> question = StructuredQuery("boilers", Comparison(Comparator.GTE, "year", 2020), limit=3)
        >>> FilterTranslator().visit_structured_query(question)
        ('boilers', {'filter': {'year': {'$gte': 2020}}, 'k': 3})
    """

    allowed_comparators: Sequence[Comparator] | None = tuple(
        one for one in Comparator if one not in (Comparator.CONTAIN, Comparator.LIKE)
    )

    def visit_operation(self, operation: Operation) -> dict[str, object]:
        """Return a filter of joined conditions.

        Raises:
            InvalidInput: "not" does not have exactly one argument, or another has none.
        """
        self._validate_func(operation.operator)
        parts = [one.accept(self) for one in operation.arguments]
        if operation.operator is not Operator.NOT and parts:
            return {f"${operation.operator.value}": parts}
        if len(parts) != 1:
            wanted = "exactly one argument" if operation.operator is Operator.NOT else "at least one argument"
            raise InvalidInput(f"{operation.operator.value!r} takes {wanted}, and has {len(parts)}")
        return {"$not": parts[0]}

    def visit_comparison(self, comparison: Comparison) -> dict[str, object]:
        """Return a filter of one condition.

        Raises:
            InvalidInput: it is ``contain`` or ``like``.
        """
        self._validate_func(comparison.comparator)
        value: object = comparison.value
        if isinstance(value, Mapping) and "date" in value:
            value = cast("Mapping[str, object]", value)["date"]
        return {comparison.attribute: {f"${comparison.comparator.value}": value}}

    def visit_structured_query(self, structured_query: StructuredQuery) -> tuple[str, dict[str, object]]:
        """Return the text to search for, and the arguments of a search: ``filter`` and ``k``, as far as they are given."""
        arguments: dict[str, object] = {}
        if structured_query.filter is not None:
            arguments["filter"] = structured_query.filter.accept(self)
        if structured_query.limit is not None:
            arguments["k"] = structured_query.limit
        return structured_query.query, arguments
