"""Each provider's chat model beside its official SDK and LangChain's partner package, over HTTP, in the provider's format.

The SDKs are no part of `bench`: ``scripts/setup sdks`` brings them. A provider with nothing to compare it with is left
out.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from .bench import Bench, Case
from .contenders import Caller, find_callers
from .harness import Target
from .replies import CHUNKS
from .seats import measure_first_answers, measure_work
from .table import Row, row_of

__all__ = ["CASES"]


@dataclass(frozen=True)
class _Provider:
    """What its rows are called, and what they are to cost next to the SDK; None: no aim."""

    name: str
    piece: float | None = None
    call: float = 0.35
    first: float = 0.6


PROVIDERS = {
    "openai": _Provider("OpenAI, chat completions", piece=0.15),
    "responses": _Provider("OpenAI, responses", piece=0.15),
    "anthropic": _Provider("Anthropic", piece=0.45),
    "google": _Provider("Google"),
    "mistral": _Provider("Mistral"),
    "cohere": _Provider("Cohere"),
    "ollama": _Provider("Ollama", piece=0.75, call=0.45),
    "bedrock": _Provider("Bedrock", piece=1, call=0.75, first=1.5),  # botocore has no models of its own
}


def costs(bench: Bench) -> Iterator[Row]:
    """A call, and a token of a stream that is all there at once."""
    for format, provider in _compared().items():
        samples = measure_work(bench, format, _call, per=1)
        yield row_of(bench.case, f"{provider.name}: a call", samples, Target(provider.call, over="peer"))
        samples = measure_work(bench, format, _stream, per=CHUNKS)
        target = None if provider.piece is None else Target(provider.piece, over="peer")
        yield row_of(bench.case, f"{provider.name}: a token of {CHUNKS}", samples, target)


def first_answers(bench: Bench) -> Iterator[Row]:
    """A fresh process: start, import, ask once; above one that does nothing."""
    for format, provider in _compared().items():
        samples = measure_first_answers(bench, format)
        target = Target(provider.first, over="peer")
        yield row_of(bench.case, f"{provider.name}: first answer of a process", samples, target, "ms")


def _compared() -> dict[str, _Provider]:
    """Return the providers whose SDK is installed."""
    return {format: provider for format, provider in PROVIDERS.items() if "peer" in find_callers(format)}


async def _call(caller: Caller) -> None:
    await caller.call()


async def _stream(caller: Caller) -> None:
    count = await caller.stream()
    assert count >= CHUNKS, f"{count} tokens of {CHUNKS}"


CASES: dict[str, Case] = {"providers": costs, "providers-cold": first_answers}
