"""Scorers of data: which fields are right, and whether it fits a schema."""

from contextlib import suppress
from typing import Any, cast

from hocket._pipeline.cache_key import portable_key
from hocket._schemas import is_equal
from hocket.errors import InvalidInput, OutputParserException
from hocket.errors.hints import excerpt, shorten
from hocket.evaluation.answer import Answer, write_input
from hocket.evaluation.cases import Case
from hocket.evaluation.scorer import NamedScorer, Score
from hocket.language_models.structured.schema import OutputSchema
from hocket.output_parsers.json_text import decode_json, parse_json_markdown

__all__ = ["fields", "read_data", "schema"]


def fields(*, name: str = "fields") -> NamedScorer:
    """Return a scorer: the share of the expected fields that are right in the answer, which may have more.

    What is expected is an object, or a text of JSON with one. The answer may be a text of JSON, too, also in a fence.
    """

    def score(answer: Answer, case: Case) -> Score | None:
        wanted = _read_expected(case)
        if not wanted:
            return None
        try:
            found = read_data(answer)
        except ValueError:
            return Score(0.0, "no JSON")
        if not isinstance(found, dict):
            return Score(0.0, "no JSON object")
        data = cast("dict[str, Any]", found)
        wrong = [key for key, value in wanted.items() if key not in data or not is_equal(data[key], value)]
        return Score(1 - len(wrong) / len(wanted), f"wrong: {shorten(', '.join(wrong), 200)}" if wrong else "")

    return NamedScorer(name, score)


def schema(kind: type[Any] | dict[str, Any], *, name: str = "schema") -> NamedScorer:
    """Return a scorer: whether the answer, or the JSON in its text, fits a schema. What the case expects does not count.

    Args:
        kind: a JSON schema of an object, a pydantic model class, a TypedDict, or a dataclass.
        name: of the metric.

    Raises:
        InvalidInput: it is none of these.
    """
    wanted = OutputSchema[Any](kind)

    def score(answer: Answer, case: Case) -> Score:
        try:
            wanted.read(read_data(answer))
        except OutputParserException as error:
            return Score(False, shorten(str(error.observation), 500))
        except ValueError:
            return Score(False, "no JSON")
        return Score(True)

    return NamedScorer(name, score, portable_key(wanted.json_schema)[:12])


def read_data(answer: Answer) -> Any:
    """Return an answer as data; of a text, the JSON in it.

    Raises:
        ValueError: it has none.
    """
    if answer.output is None or isinstance(answer.output, str):
        return parse_json_markdown(answer.text, parser=decode_json)
    return answer.output


def _read_expected(case: Case) -> dict[str, Any]:
    wanted = write_input(case.expected)
    if isinstance(wanted, str) and wanted:
        with suppress(ValueError):
            wanted = decode_json(wanted)
    if not wanted and not isinstance(wanted, int | float):
        return {}
    if not isinstance(wanted, dict):
        raise InvalidInput(
            f"the case {case.id!r} expects {excerpt(case.expected)}; fields() needs an object, or its JSON"
        )
    return cast("dict[str, Any]", wanted)
