"""A search by a function of the application, which has the client and its key.

Each search engine has an API of its own, and an application has its own limits, proxies and caches; so this tool sends
nothing itself. It tells the model what was found, in a form and a size that do not change with the engine. Three things it
does not tell: keys; the texts of exceptions, which may name URLs with keys in them; and results that lead into the
application's own network.
"""

import inspect
import itertools
import json
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias, cast
from urllib.parse import urlsplit

from pydantic import SecretStr

from hocket._runtime.mode import ASYNC
from hocket._secrets import redact, unwrap_secret
from hocket.errors import InvalidHook, InvalidInput, RetryTool, StopRun, ToolException
from hocket.http.public_addresses import leads_inside
from hocket.tools import BaseTool, StructuredTool
from hocket.tools.signature import is_async

__all__ = ["Fetch", "SearchResult", "search_tool"]

SearchResult: TypeAlias = str | Mapping[str, object]
"""A text; or a title, a URL and a text, under the names that search engines give them."""

Found: TypeAlias = str | Sequence[SearchResult]
"""All that a search engine answers: one text, or results, the best first."""

Fetch: TypeAlias = Callable[[str], Found] | Callable[[str], Awaitable[Found]]
"""Asks a search engine: from a query to a text, or to results, the best first."""

_MAX_QUERY = 1_000
_FIELDS = (  # what search engines call the title, the URL and the text
    ("title", "name"),
    ("url", "link", "href"),
    ("snippet", "content", "description", "body", "text"),
)


def search_tool(
    fetch: Fetch,
    *,
    name: str = "search",
    description: str = "Search the web for current information. Takes the text to search for.",
    max_results: int = 5,
    max_chars: int = 5_000,
    secrets: Iterable[str | SecretStr] = (),
) -> BaseTool:
    """Return a tool that searches by a function of the application.

    It takes one text, ``query``. If ``fetch`` fails, the model is told the kind of the exception and the status of its
    response, if it has one, but not its text; a `ToolException` is told whole. Results whose URL names an address of a
    private network, or this machine, are left out. The names of hosts are not resolved: whatever opens a URL has to check
    where it leads.

    Args:
        fetch: sync or async; asks the search engine. A sync one runs in a worker thread. It returns a text, or results:
            texts, or dicts with a title, a URL and a text (``title``, ``url``, ``snippet``, or what other engines call
            these).
        name: of the tool.
        description: for the model.
        max_results: that the model is told at most.
        max_chars: of all results together; each has the same share.
        secrets: the key, and whatever else must not get to the model; masked wherever it turns up. What looks like a key
            is masked in any case.

    Raises:
        InvalidHook: ``fetch`` is no function.
        InvalidInput: a limit is not above 0.

    Examples:
        >>> async def fetch(query):
        ...     reply = await client.get("https://api.example.com/search", params={"q": query}, headers={"X-Key": key})
        ...     return reply.raise_for_status().json()["results"]
        >>> search_tool(fetch).name
        'search'
    """
    for limit, value in (("max_results", max_results), ("max_chars", max_chars)):
        if not value > 0:
            raise InvalidInput(f"{limit} is {value!r}; it must be above 0")
    if not callable(fetch):  # pyright: ignore[reportUnnecessaryComparison]  # refused at the door
        raise InvalidHook(f"fetch is {type(fetch).__name__}; it is a function that takes a query")
    hidden = [unwrap_secret(secret) for secret in secrets]

    async def search(query: str) -> str:
        if not query.strip() or len(query) > _MAX_QUERY:
            raise ToolException(f"The query has {len(query):,} characters; write 1 to {_MAX_QUERY:,}.")
        try:
            lines = list(_list_results(await _ask(fetch, query), max_results, max_chars))
        except (StopRun, InvalidHook):
            raise
        except RetryTool as error:
            raise RetryTool(redact(str(error), hidden)) from None
        except Exception as error:
            raise ToolException(redact(_describe_failure(error), hidden)) from None
        return redact("\n\n".join(lines), hidden) if lines else "Nothing was found. Try other words."

    return StructuredTool.from_function(coroutine=search, name=name, description=description, handle_tool_error=True)


async def _ask(fetch: Fetch, query: str) -> object:
    if is_async(fetch):
        return await fetch(query)
    (found,) = await ASYNC.call_sync(lambda: (fetch(query),))  # in a tuple: trio takes no coroutine out of a thread
    return await found if inspect.isawaitable(found) else found


def _list_results(found: object, max_results: int, max_chars: int) -> Iterator[str]:
    """Yield what was found, each result as a text."""
    if isinstance(found, str):
        if found.strip():
            yield _cut(found, max_chars)
        return
    if not isinstance(found, list | tuple):
        raise InvalidHook(f"the search returned {type(found).__name__}; it returns a text, or a list of texts or dicts")
    outside = (result for result in cast("Iterable[object]", found) if not _leads_inside(result))
    for number, result in enumerate(itertools.islice(outside, max_results), 1):
        yield f"{number}. {_cut(_write(result), max_chars // max_results)}"


def _write(result: object) -> str:
    if isinstance(result, str):
        return result
    if not isinstance(result, Mapping):
        raise InvalidHook(f"the search returned a list of {type(result).__name__}; a result is a text or a dict")
    lines = [_find(cast("Mapping[str, object]", result), names) for names in _FIELDS]
    return "\n".join(filter(None, lines)) or json.dumps(dict(cast("Mapping[str, object]", result)), default=str)


def _find(result: Mapping[str, object], names: Iterable[str]) -> str:
    """Return the first text that ``result`` has under one of ``names``; "": none."""
    return next((text for name in names if isinstance(text := result.get(name), str) and text), "")


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[:longest]}… ({len(text) - longest:,} more characters)"


def _leads_inside(result: object) -> bool:
    """Whether a result's URL names this machine, or an address that only a private network has."""
    url = _find(cast("Mapping[str, object]", result), _FIELDS[1]) if isinstance(result, Mapping) else ""
    if not url:
        return False
    try:
        return leads_inside(urlsplit(url.strip()).hostname or "")
    except ValueError:  # no URL, or no name of a host
        return True


def _describe_failure(error: Exception) -> str:
    if isinstance(error, ToolException):
        return str(error)
    status: object = getattr(getattr(error, "response", None), "status_code", None)
    shown = f", status {status}" if isinstance(status, int) else ""
    return f"The search failed: {type(error).__name__}{shown}. Try again, or go on without it."
