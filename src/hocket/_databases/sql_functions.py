"""Which functions a query calls, and whether they are harmless.

PostgreSQL has functions that read files, run queries given as text, wait, or write; a transaction that is read-only stops
few of them. So a query may call those alone that are listed here: what analysts write, none of which looks beyond its
arguments or makes a short text a huge one. The query is cut into words for that, as PostgreSQL does it; what cannot be
cut is refused. So is what PostgreSQL may cut in another way: a text that goes on in the next line, of which only the first
part says how its backslashes are read, and signs and spaces beyond ASCII, which are letters to it.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from hocket.errors import InvalidInput
from hocket.errors.hints import excerpt

__all__ = ["check_functions"]

_FUNCTIONS_TEXT = """
abs age any_value array_agg array_length array_position array_to_string avg bit_and bit_or bool_and bool_or btrim
cardinality ceil ceiling char_length character_length coalesce concat concat_ws corr count covar_pop covar_samp
cume_dist date_bin date_part date_trunc dense_rank every exp extract first_value floor generate_series greatest
initcap json_agg json_array_elements json_array_elements_text json_array_length json_build_array json_build_object
json_each json_each_text json_extract_path json_extract_path_text json_object_agg json_typeof jsonb_agg
jsonb_array_elements jsonb_array_elements_text jsonb_array_length jsonb_build_array jsonb_build_object jsonb_each
jsonb_each_text jsonb_extract_path jsonb_extract_path_text jsonb_object_agg jsonb_typeof justify_days justify_hours
justify_interval lag last_value lead least left length ln log log10 lower ltrim make_date make_interval make_time
make_timestamp max md5 min mod mode now nth_value ntile nullif octet_length percent_rank percentile_cont
percentile_disc plainto_tsquery position pow power random rank regexp_count regexp_like regexp_match regexp_matches
regexp_replace regexp_split_to_array regexp_split_to_table regexp_substr regr_intercept regr_r2 regr_slope replace
reverse right round row_number row_to_json rtrim sign similarity split_part sqrt starts_with stddev stddev_pop
stddev_samp string_agg string_to_array string_to_table strpos substr substring sum to_char to_date to_json to_jsonb
to_number to_timestamp to_tsquery to_tsvector translate trim trunc ts_rank ts_rank_cd unnest upper var_pop var_samp
variance websearch_to_tsquery width_bucket
"""

_KEYWORDS_TEXT = """
all and any array as between bit by case cast char character cross cube decimal distinct else except exists fetch
filter float from full group grouping having ilike in inner intersect interval is join lateral left like limit
materialized not numeric offset on only or over precision right rollup row select sets similar some then time
timestamp timestamptz to union using values varchar varying when where with
"""

_FUNCTIONS = frozenset(_FUNCTIONS_TEXT.split())
_KEYWORDS = frozenset(_KEYWORDS_TEXT.split())
_NAMING = frozenset({"as", "with", "recursive"})  # what follows is the name of a part of the query, and of its columns

_TOKEN = re.compile(
    r"(?P<space>[ \t\n\r\f\v]+|--[^\n\r]*)"
    r"|(?P<text>[eE]'(?:[^'\\]|''|\\.)*'|(?:[nNbBxX])?'(?:[^']|'')*'|\$(?P<tag>(?:[^\W\d]\w*)?)\$.*?\$(?P=tag)\$)"
    r'|(?P<quoted>"(?:[^"]|"")+")'
    r"|(?P<word>[^\W\d][\w$]*)"
    r"|(?P<number>[0-9][\w.]*)"
    r"|(?P<sign>[!#-&(-~])",
    re.DOTALL,
)


class _Token(NamedTuple):
    """A word or a sign; a quoted word is not folded, and no keyword."""

    text: str
    kind: str


def check_functions(query: str) -> None:
    """Check that a query is one statement, and calls nothing but harmless functions.

    Raises:
        InvalidInput: it does not, or cannot be read.
    """
    tokens = [*_cut(query)]
    depth = 0
    for index, token in enumerate(tokens):
        if token == (";", "sign"):
            raise InvalidInput("Not allowed: a semicolon. Only one SELECT statement is taken.")
        if token.kind == "text" and index and tokens[index - 1].kind == "text":
            raise InvalidInput("Not allowed: a text right behind another. Join them with ||.")
        depth += (token.text in "([") - (token.text in ")]") if token.kind == "sign" else 0
        if depth < 0:
            break
        if token == ("(", "sign") and index and tokens[index - 1].kind in ("word", "quoted"):
            _check_call(tokens, index - 1)
    if depth:
        raise InvalidInput("The query failed: its brackets do not match")


def _check_call(tokens: list[_Token], index: int) -> None:
    """Check the word before a bracket."""
    name, kind = tokens[index]
    before = tokens[index - 1] if index else _Token("", "start")
    if before == (".", "sign"):
        schema = tokens[index - 2] if index > 1 else _Token("", "start")
        is_known = schema.text == "pg_catalog" and name in _FUNCTIONS
    else:
        is_known = name in _FUNCTIONS or (kind == "word" and name in _KEYWORDS) or before in _NAMED_AFTER
    if not is_known:
        raise InvalidInput(
            f"Not allowed: the function {excerpt(name)}. Only common functions of numbers, texts, dates, JSON, groups and "
            "windows are taken."
        )


_NAMED_AFTER = frozenset(_Token(word, "word") for word in _NAMING)


def _cut(query: str) -> Iterator[_Token]:
    position = 0
    while position < len(query):
        if query.startswith("/*", position):
            position = _skip_comment(query, position)
            continue
        match = _TOKEN.match(query, position)
        if match is None or match[0][:2] in ("U&", "u&"):
            raise InvalidInput(f"The query failed: it cannot be read from {excerpt(query[position:])} on")
        position = match.end()
        kind = match.lastgroup or ""
        if kind == "word":
            if match[0] in ("U", "u") and query.startswith("&", position):
                raise InvalidInput("Not allowed: texts and names that begin with U&")
            yield _Token(match[0].lower(), kind)
        elif kind == "quoted":
            yield _Token(match[0][1:-1].replace('""', '"'), kind)
        elif kind != "space":
            yield _Token(match[0], "text" if kind == "tag" else kind)


def _skip_comment(query: str, position: int) -> int:
    """Return where a comment ends; one may have others in it."""
    depth = 0
    while position < len(query):
        two = query[position : position + 2]
        if two in ("/*", "*/"):
            depth += 1 if two == "/*" else -1
            position += 2
            if not depth:
                return position
        else:
            position += 1
    raise InvalidInput("The query failed: a comment has no end")
