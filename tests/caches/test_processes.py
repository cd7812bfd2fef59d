"""Caches that several processes share: equal calls of all of them, and processes that die."""

import os
import signal
import time
from pathlib import Path
from typing import Any

import anyio
import pytest

from hocket._pipeline import claim as stage
from tests.kit.caches import AskingModel, CachePlace, read_requests, start_process

PROCESSES = 8
CALLS = 100  # of each
PROMPTS = 20
PATIENCE = 120.0


@pytest.mark.one_of(2)
def test_equal_calls_of_all_processes_are_one_request(place: CachePlace, tmp_path: Path) -> None:
    """Async ones and sync ones, in threads; everybody gets the answer to his own prompt."""
    log = str(tmp_path / "log")
    ask = [
        f"model = AskingModel(log={log!r}, pause=0.02, cache={place.code()})",
        f"prompts = [str(number % {PROMPTS}) for number in range({CALLS})]",
        "random.shuffle(prompts)",
    ]
    ask_async = [
        "async def main():",
        "    return await asyncio.gather(*(model.ainvoke(prompt) for prompt in prompts))",
        "answers = asyncio.run(main())",
    ]
    ask_sync = ["with ThreadPoolExecutor(8) as pool:", "    answers = list(pool.map(model.invoke, prompts))"]
    check = ["assert [answer.text for answer in answers] == [f'{prompt}!' for prompt in prompts]", "print('done')"]
    crowd = [start_process(*ask, *(ask_sync if number % 4 == 3 else ask_async), *check) for number in range(PROCESSES)]
    assert [process.communicate(timeout=300)[0] for process in crowd] == ["done\n"] * PROCESSES
    assert sorted(read_requests(log), key=int) == [str(number) for number in range(PROMPTS)]
    assert place.count_claims() == 0


async def _wait_for_requests(log: Path, count: int) -> None:
    with anyio.fail_after(PATIENCE):
        while len(await anyio.to_thread.run_sync(read_requests, log)) < count:  # noqa: ASYNC110 - another process writes it
            await anyio.sleep(0.005)


async def test_the_claim_of_a_killed_process_runs_out(
    place: CachePlace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Until then the others wait; then one of them asks: one more request."""
    log, refused = tmp_path / "log", 0
    take = stage.take_claim

    async def note(*args: Any) -> Any:
        nonlocal refused
        claim = await take(*args)
        refused += claim is None
        return claim

    monkeypatch.setattr(stage, "take_claim", note)
    models = [AskingModel(log=str(log), cache=place.open(lease=3600)) for _ in range(3)]
    dying = start_process(f"AskingModel(log={str(log)!r}, pause=None, cache={place.code(lease=3600)}).invoke('hi')")
    answers: list[str] = []

    async def ask(model: AskingModel) -> None:
        answers.append((await model.ainvoke("hi")).text)

    try:
        await _wait_for_requests(log, 1)
        dying.kill()
        async with anyio.create_task_group() as group:
            for model in models:
                group.start_soon(ask, model)
            with anyio.fail_after(PATIENCE):
                while refused < 5:  # noqa: ASYNC110 - polls, of which none says anything
                    await anyio.sleep(0.005)
            assert await anyio.to_thread.run_sync(read_requests, log) == ["hi"]
            await anyio.to_thread.run_sync(place.let_time_pass)
    finally:
        dying.kill()
        dying.communicate()
    assert answers == ["hi!"] * 3
    assert read_requests(log) == ["hi"] * 2


def test_an_interrupted_process_releases_its_claim(place: CachePlace, tmp_path: Path) -> None:
    """Ctrl-C, in sync and in async code: the next one asks at once."""
    for verb in ("model.invoke('hi')", "asyncio.run(model.ainvoke('hi'))"):
        log = tmp_path / f"log {verb[:5]}"
        code = place.code(lease=3600)
        process = start_process(
            "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)",
            f"model = AskingModel(log={str(log)!r}, pause=None, cache={code})",
            "try:",
            f"    {verb}",
            "except KeyboardInterrupt:",
            "    print('interrupted')",
        )
        ends_at = time.monotonic() + PATIENCE
        while not read_requests(log) and time.monotonic() < ends_at:
            time.sleep(0.005)
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=PATIENCE)[0] == "interrupted\n"
        assert place.count_claims() == 0


@pytest.mark.one_of(2, 1)
@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_forked_child_goes_on_with_the_same_cache(place: CachePlace, tmp_path: Path) -> None:
    """With connections and threads of its own, in sync and async code; neither harms the other's."""
    log = str(tmp_path / "log")
    family = start_process(
        f"model = AskingModel(log={log!r}, cache={place.code()})",
        "def ask(prompt):",
        "    assert model.invoke(prompt).text == asyncio.run(model.ainvoke(prompt)).text == f'{prompt}!'",
        "ask('both')",
        "child = os.fork()",
        "for prompt in ('both', 'child' if not child else 'parent', 'after'):",
        "    ask(prompt)",
        "if not child:",
        "    os._exit(0)",
        "assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0",
        "ask('child')",
        "ask('last')",
        "print('done')",
    )
    assert family.communicate(timeout=PATIENCE)[0] == "done\n"
    assert sorted(read_requests(log)) == ["after", "both", "child", "last", "parent"]


@pytest.mark.parametrize("place", ["sqlite"], indirect=True)
@pytest.mark.parametrize(
    ("make", "option", "cause"),
    [
        ("make_class()", "1", "__main__.make_class.<locals>.Local"),
        ("AskingModel", "lambda: 1", "__main__.<lambda>"),
        ("AskingModel", "Event()", "threading.Event"),
        ("AskingModel", "[{'tool': Event()}]", "threading.Event"),
    ],
    ids=["local class", "lambda", "object", "object inside"],
)
def test_what_only_a_process_knows_is_a_hit_there_and_told_once(
    place: CachePlace, tmp_path: Path, make: str, option: str, cause: str
) -> None:
    """Two processes, three calls each: two requests, and a warning in each of them."""
    log = str(tmp_path / "log")
    ask = [
        "import warnings",
        "from threading import Event",
        "def make_class():",
        "    class Local(AskingModel):",
        "        pass",
        "    return Local",
        f"model, option = ({make})(log={log!r}, cache={place.code()}), {option}",
        "with warnings.catch_warnings(record=True) as told:",
        "    warnings.simplefilter('always')",
        "    assert [model.invoke('hi', option=option).text for _ in range(3)] == ['hi!'] * 3",
        "(warning,) = told",
        "print(warning.category.__name__, str(warning.message).partition('depends on ')[2].partition(',')[0])",
    ]
    for number in (1, 2):
        assert start_process(*ask).communicate(timeout=PATIENCE)[0] == f"HocketWarning {cause}\n"
        assert read_requests(log) == ["hi"] * number
    assert place.count_claims() == 0


@pytest.mark.parametrize("place", ["sqlite"], indirect=True)
def test_what_all_processes_know_is_a_hit_in_all(place: CachePlace, tmp_path: Path) -> None:
    """A class of a module, data, a builtin: nothing is told."""
    log = str(tmp_path / "log")
    ask = [
        "import warnings",
        "warnings.simplefilter('error')",
        f"model = AskingModel(log={log!r}, cache={place.code()})",
        "print([model.invoke('hi', option=[len, {'a': 1.5}, b'b']).text for _ in range(2)])",
    ]
    for _ in range(2):
        assert start_process(*ask).communicate(timeout=PATIENCE)[0] == "['hi!', 'hi!']\n"
    assert read_requests(log) == ["hi"]


def test_a_caches_first_look_imports_no_client(place: CachePlace) -> None:
    """Its client is imported when the cache is made, so that no import counts as silence of the store."""
    look = start_process(
        f"cache = {place.code()}",
        "before = {*sys.modules}",
        "assert asyncio.run(cache.alookup('a', 'b')) is None",
        "new = {name.partition('.')[0] for name in {*sys.modules} - before}",
        "print(sorted(new & {'hocket', 'psycopg', 'psycopg_binary', 'redis', 'sqlite3'}))",
    )
    assert look.communicate(timeout=PATIENCE)[0] == "[]\n"
