"""What a call costs whose reply comes out of a cassette, beside the same call to a server on this machine (*bare*)."""

import asyncio
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path

from .bench import Bench, Case
from .contenders import Caller, make_caller
from .harness import Body, Target, measure
from .seats import serve_formats
from .table import Row, row_of

__all__ = ["CASES"]

FORMAT = "openai"
MOST = {"call": 30_000, "stream": 3_000}
"""What a cassette answers: more than a row asks. To read streams takes long, and is not measured."""


def replay(bench: Bench) -> Iterator[Row]:
    """A call, and a stream."""
    from hocket.testing import cassette

    with serve_formats() as url, tempfile.TemporaryDirectory() as folder:
        caller = make_caller(FORMAT, "hocket", f"{url}/now/{FORMAT}")
        for verb in ("call", "stream"):
            path = Path(folder) / f"{verb}.json"
            with cassette(path, record="once"), asyncio.Runner() as runner:
                runner.run(getattr(caller, verb)())
            _repeat(path, MOST[verb])
            tape = cassette(path)
            used = tape._load()

            def build_replay(verb: str = verb, tape: cassette = tape, used: object = used) -> Body:
                live = _calling(caller, verb)

                def turn(count: int) -> None:
                    tape._start(used)  # type: ignore[arg-type]
                    try:
                        live(count)
                    finally:
                        tape._stop()

                return turn

            def build_live(verb: str = verb) -> Body:
                return _calling(caller, verb)

            samples = measure({"hocket": build_replay, "bare": build_live}, bench.plan)
            yield row_of(bench.case, f"a {verb} out of a cassette", samples, Target(1.5, "bare"))


def _calling(caller: Caller, verb: str) -> Body:
    runner = asyncio.Runner()

    async def call(count: int) -> None:
        for _ in range(count):
            await getattr(caller, verb)()

    return lambda count: runner.run(call(count))


def _repeat(path: Path, count: int) -> None:
    """Have a cassette answer the same request so many times."""
    data = json.loads(path.read_text())
    path.write_text(json.dumps({**data, "exchanges": data["exchanges"][:1] * count}))


CASES: dict[str, Case] = {"replay": replay}
