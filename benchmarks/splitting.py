"""Splitting prose into pieces, with and without their places, beside langchain-text-splitters; and how it grows."""

import importlib
import random
from collections.abc import Iterator
from typing import Any

from .bench import Bench, Case, repeating
from .harness import Body, Target
from .library import Library, library
from .table import Row

__all__ = ["CASES"]

SIZES = ((4_000, 200), (1_000, 200), (300, 30))
"""The defaults of the splitter, and two that are usual for embeddings: characters, and how many of them overlap."""

CHARACTERS = 4_000_000


def pieces(bench: Bench) -> Iterator[Row]:
    """Texts out of one long text."""
    text = _prose(CHARACTERS // 8 if bench.plan.quick else CHARACTERS)
    for size, overlap in SIZES:

        def build(lib: Library, size: int = size, overlap: int = overlap) -> Body:
            splitter = _splitter(lib, chunk_size=size, chunk_overlap=overlap)
            return repeating(lambda: splitter.split_text(text))

        yield bench.compare(f"splitting {_megabytes(text)}, {size:,}/{overlap}", build, Target(1))


def places(bench: Bench) -> Iterator[Row]:
    """Documents out of a long one, each with a copy of its metadata and the place where it begins."""
    text = _prose(CHARACTERS // 8 if bench.plan.quick else CHARACTERS)
    for size, overlap in SIZES:

        def build(lib: Library, size: int = size, overlap: int = overlap) -> Body:
            splitter = _splitter(lib, chunk_size=size, chunk_overlap=overlap, add_start_index=True)
            document = lib.documents.Document(page_content=text, metadata={"source": "rules.pdf", "page": 3})
            return repeating(lambda: splitter.split_documents([document]))

        yield bench.compare(f"with their places, {_megabytes(text)}, {size:,}/{overlap}", build, Target(0.5))


def growth(bench: Bench) -> Iterator[Row]:
    """Four times a text that has no separator; with lengths that add up, and with ones that do not."""
    for what, length in (("in characters", len), ("in quarters of characters", _quarters)):

        def build(count: int, length: Any = length) -> Body:
            splitter = _splitter(library("hocket"), length_function=length)
            text = "x" * count
            return repeating(lambda: splitter.split_text(text))

        unit = CHARACTERS // 40 if bench.plan.quick else CHARACTERS // 10
        yield bench.growth(
            f"no separator, {what}: {4 * unit / 1e6:.1f} MB of {unit / 1e6:.1f} MB",
            lambda unit=unit, build=build: build(unit),  # type: ignore[misc]
            lambda unit=unit, build=build: build(4 * unit),  # type: ignore[misc]
            limit=4.5,
        )


def _splitter(lib: Library, **options: Any) -> Any:
    package = "langchain_text_splitters" if lib.name == "langchain" else "hocket.text_splitters"
    return importlib.import_module(package).RecursiveCharacterTextSplitter(**options)


def _quarters(text: str) -> int:
    return len(text) // 4


def _megabytes(text: str) -> str:
    return f"{len(text) / 1e6:.1f} MB"


def _prose(characters: int) -> str:
    """Make paragraphs of 100 to 1,700 characters, out of 3,000 words."""
    chance = random.Random(15)
    words = ["".join(chance.choices("etaoinshrdlucmfwyp", k=chance.randint(2, 9))) for _ in range(3_000)]
    paragraphs: list[str] = []
    made = 0
    while made < characters:
        paragraphs.append(" ".join(chance.choices(words, k=chance.randint(15, 260))))
        made += len(paragraphs[-1]) + 2
    return "\n\n".join(paragraphs)[:characters]


CASES: dict[str, Case] = {"split": pieces, "split-places": places, "split-growth": growth}
