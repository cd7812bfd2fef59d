"""Bad input: refused where it is given, with what is wrong about it, and nothing is stored."""

from typing import Any

import pytest

from hocket import create_agent
from hocket.durable import open_runs, step, wait_for
from hocket.errors import InvalidInput, RunFailed, UnknownRun
from tests.durable.conftest import make_runs, work
from tests.kit.models import hook_model


async def report(topic: str) -> str:
    """Return the topic."""
    return topic


@pytest.mark.parametrize(
    "url",
    ["", "runs.db", "sqlite://", "sqlite:///", "redis://127.0.0.1", "mysql://a/b", "postgresql://host:port/x", None, 3],
    ids=repr,
)
def test_addresses(url: Any):
    """Of another kind, or without a place."""
    with pytest.raises(InvalidInput):
        open_runs(url)


def test_a_password_is_not_told():
    """In no error, and not in what is shown of the runs."""
    with pytest.raises(InvalidInput) as caught:
        open_runs("mysql://user:hunter2@host/x")
    assert "hunter2" not in str(caught.value)
    assert "hunter2" not in repr(open_runs("postgresql://user:hunter2@127.0.0.1:1/x"))
    for mistyped in ("postgresql:/me:hunter2@host/db", "postgres//me:hunter2@host"):
        with pytest.raises(InvalidInput) as caught:
            open_runs(mistyped)
        assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("count", [-1, True, 1.5, "3", None])
def test_max_concurrency(url: str, count: Any):
    """It is a whole number, and 0 says that others work."""
    with pytest.raises(InvalidInput, match="max_concurrency"):
        open_runs(url, max_concurrency=count)


def sync(topic: str) -> str:
    """Return the topic."""
    return topic


async def two(a: str, b: str) -> str:
    """Take two inputs."""
    return a + b


async def none() -> str:
    """Take no input."""
    return ""


@pytest.mark.parametrize("target", [sync, two, none, 3, "report", object()], ids=lambda target: type(target).__name__)
def test_targets(url: str, target: Any):
    """A durable thing is an agent, a chain or an async function of one input."""
    with pytest.raises(InvalidInput):
        open_runs(url).durable(target, name="it")


@pytest.mark.parametrize("name", ["", "a" * 101, "a\nb", "a@b", 3], ids=repr)
def test_names_and_versions(url: str, name: Any):
    """They are printable, short, and without what separates them."""
    with pytest.raises(InvalidInput, match="version is"):
        open_runs(url).durable(report, version=name)
    if name:
        with pytest.raises(InvalidInput, match="name is"):
            open_runs(url).durable(report, name=name)


def test_a_name_twice(url: str):
    """A kind is registered once; under another version, or by another name, it is another one."""
    runs = open_runs(url)
    runs.durable(report)
    runs.durable(report, version="2")
    runs.durable(report, name="other")
    with pytest.raises(InvalidInput, match="already"):
        runs.durable(report)


def test_options_of_agents(url: str):
    """A function takes no context."""
    with pytest.raises(InvalidInput, match="is no agent"):
        open_runs(url).durable(report, context=lambda info: None)
    with pytest.raises(InvalidInput, match="is no agent"):
        open_runs(url).durable(hook_model(), name="model", injected=lambda info: {})


async def test_options_of_a_start(url: str):
    """Metadata is a mapping of JSON, and a timeout a number above 0."""
    async with work(url, report) as durable:
        for metadata in ([1], "a", {"a": object()}, {"a": float("nan")}, 3):
            with pytest.raises(InvalidInput, match="metadata is"):
                await durable.astart("tea", metadata=metadata)  # type: ignore[arg-type]
        for timeout in (0, -1, "3", float("nan"), float("inf"), True):
            with pytest.raises(InvalidInput, match="timeout is"):
                await durable.astart("tea", timeout=timeout)  # type: ignore[arg-type]
        assert await open_runs(url).alist() == []


async def test_options_of_a_resume(url: str):
    """The words are those of `Resume`; a version is one that could be registered; nothing is changed otherwise."""

    async def fail(topic: str) -> str:
        raise ValueError(topic)

    async with work(url, fail) as durable:
        run = await durable.astart("tea", id="a")
        with pytest.raises(RunFailed):
            await run.aresult()
        for options in ({"rerun": "perhaps"}, {"version": "a@b"}, {"version": ""}, {"version": 3}):
            with pytest.raises(InvalidInput):
                await run.aresume(**options)  # type: ignore[arg-type]
        assert (await run.ainfo()).status == "failed"


async def test_filters_of_a_list(url: str):
    """A status is one of them, a limit a whole number above 0, and the run that it begins behind one that there is."""
    runs = open_runs(url)
    with pytest.raises(UnknownRun, match="'gone'"):
        await runs.alist(before="gone")
    for options in ({"status": "lost"}, {"limit": 0}, {"limit": -1}, {"limit": "3"}):
        with pytest.raises(InvalidInput):
            await runs.alist(**options)


async def test_what_a_signal_is_called(url: str):
    """Names of signals are texts; times are numbers: in the sender, and in the run."""

    async def wait(options: dict[str, Any]) -> str:
        await wait_for(**options)
        return "never"

    async with work(url, wait) as durable:
        for options in ({"name": "a", "timeout": "3"}, {"name": "a", "timeout": -1}, {"name": 3}, {"name": ""}):
            with pytest.raises(RunFailed) as caught:
                await durable.ainvoke(options)
            assert caught.value.kind == "InvalidInput"
        run = await durable.astart({"name": "a"})
        for name in (3, "", None):
            with pytest.raises(InvalidInput):
                await run.asignal(name)  # type: ignore[arg-type]
        await run.acancel()


async def test_arguments_of_a_step_that_cannot_be_known(url: str):
    """They need a key; with one they need not be known."""

    class Client:
        pass

    async def ask(client: Client) -> str:
        return type(client).__name__

    async def run_step(key: str | None) -> str:
        return await step(ask, Client(), key=key)

    async with work(url, run_step) as durable:
        with pytest.raises(RunFailed, match="name it by key="):
            await durable.ainvoke(None)
        assert await durable.ainvoke("client") == "Client"


async def test_decisions(url: str):
    """They are a mapping of words; a run that waits for none has no call to decide."""

    async with work(url, report) as durable:
        run = await durable.astart("tea", id="a")
        for decisions in ({"a": "approve"}, ["a"], "approve", None):
            with pytest.raises(InvalidInput):
                await run.adecide(decisions)  # type: ignore[arg-type]


async def test_the_input_of_an_agent(url: str):
    """What no agent takes fails the run, and asks nothing."""
    model = hook_model()
    runs, (clerk,) = make_runs(url, create_agent(model, name="clerk"))
    async with runs:
        for input in (3, {"what": 1}, []):
            with pytest.raises(RunFailed):
                await clerk.ainvoke(input)
    assert model.requests == []
