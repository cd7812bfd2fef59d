"""The part of the pytest plugin that is about cassettes.

A marked test has its cassette from before the set-up of its fixtures until after their tear-down.
"""

import hashlib
import re
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import pytest

from hocket.errors import CassetteMiss, ModelRequestsBlocked
from hocket.testing.cassettes.cassette import cassette
from hocket.testing.cassettes.defaults import CassetteDefaults, RecordMode, get_defaults, use_defaults
from hocket.testing.outcomes import hide_inside

__all__ = ["CassetteHooks", "add_cassette_options", "name_cassette"]

_MARKER = (
    "cassette(path, *, record, ignore, timing, scrub): answer this test's model requests out of a file, see "
    "hocket.testing.cassette. Default of the path: cassettes/<module>/<test>.json beside the test's file."
)
_PROPERTY = "hocket_cassette"
_LONGEST = 120  # characters of a name: file systems take 255 bytes
_UNFIT = re.compile(r'[\s/\\:*?"<>|-]+')  # what some file system does not take


@dataclass
class _Marked:
    """A marked test under way: its cassette, and what it failed with."""

    cassette: cassette
    error: BaseException | None = None


_marked = pytest.StashKey[_Marked]()


def add_cassette_options(parser: pytest.Parser) -> None:
    """Add the options for cassettes."""
    group = parser.getgroup("hocket", "cassettes of hocket.testing")
    group.addoption(
        "--hocket-record",
        choices=get_args(RecordMode),
        help="record model requests: once (where a cassette has no file), new (what is missing), all (everything again)",
    )
    group.addoption("--hocket-max-age", type=float, metavar="DAYS", help="warn of cassettes that are older")
    group.addoption(
        "--hocket-strict", action="store_true", help="fail a test whose cassette holds what nobody asks for any more"
    )


class CassetteHooks:
    """Hooks of pytest. They come last, and so next to the fixtures: pytest's own need to have begun to bear a failure.

    Args:
        config: of the session.
    """

    def __init__(self, config: pytest.Config) -> None:
        config.addinivalue_line("markers", _MARKER)
        session = CassetteDefaults(
            record=config.getoption("--hocket-record", None),
            max_age=config.getoption("--hocket-max-age", None),
            strict=bool(config.getoption("--hocket-strict", False)),
            is_pytest=True,
        )
        self._before = use_defaults(session)
        self._written: list[str] = []

    def pytest_unconfigure(self) -> None:
        """Have hold what held before: a session may run inside another."""
        use_defaults(self._before)

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Generator[None, Any, Any]:
        """Put a marked test's cassette in use."""
        mark = item.get_closest_marker("cassette")
        if mark is not None:
            path = item.path.parent / mark.args[0] if mark.args else name_cassette(item)
            item.stash[_marked] = _Marked(cassette(path, *mark.args[1:], **mark.kwargs).__enter__())
        with _noting_failure(item):
            return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, Any, Any]:
        """Note what a test failed with: of some failures no recording is kept."""
        with _noting_failure(item):
            return (yield)

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> Generator[None, Any, Any]:
        """Put the cassette out of use, and write what was recorded."""
        try:
            return (yield)
        finally:
            marked = item.stash.get(_marked, None)
            if marked is not None:
                del item.stash[_marked]  # a plugin may run a test again
                error = marked.error
                marked.cassette.__exit__(None if error is None else type(error), error, None)
            self._note_written(item)

    def _note_written(self, item: pytest.Item) -> None:
        """Put what was recorded into the test's report, which is taken to the process that talks to the user."""
        written = get_defaults().written
        for path, count in written.items():
            if path.is_relative_to(item.config.rootpath):  # no temporary one
                counted = f"{count} {'exchange' if count == 1 else 'exchanges'}"
                what = counted if count else "not written, since a call failed"
                item.user_properties.append((_PROPERTY, f"{path.relative_to(item.config.rootpath)}: {what}"))
        written.clear()

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, Any]:
        """Show where in the user's code a request was made that nothing answers, and not the way through hocket."""
        error = call.excinfo.value if call.excinfo is not None else None
        if isinstance(error, CassetteMiss | ModelRequestsBlocked):
            hide_inside(error)
            call.excinfo = pytest.ExceptionInfo[BaseException].from_exception(error)
        return (yield)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Collect what was recorded, in the process that talks to the user."""
        if report.when == "teardown":
            self._written.extend(str(value) for name, value in report.user_properties if name == _PROPERTY)

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Say what was recorded."""
        if self._written:
            terminalreporter.section("recorded by hocket")
            for line in self._written:
                terminalreporter.line(line)


@contextmanager
def _noting_failure(item: pytest.Item) -> Generator[None]:
    try:
        yield
    except BaseException as error:
        if _marked in item.stash:
            item.stash[_marked].error = error
        raise


def name_cassette(item: pytest.Item) -> Path:
    """Return the path of a test's cassette: the event loops share it, for they do not change what is said."""
    name = item.name
    callspec: Any = getattr(item, "callspec", None)
    if callspec is not None and "anyio_backend" in callspec.params:
        backend: Any = callspec.params["anyio_backend"]
        ids: list[str] = callspec.id.split("-")
        loop = backend if isinstance(backend, str) else backend[0]
        if loop in ids:
            ids.remove(loop)
            kept = "-".join(ids)
            name = name.removesuffix(f"[{callspec.id}]") + (f"[{kept}]" if kept else "")
    if isinstance(item.parent, pytest.Class):
        name = f"{item.parent.name}.{name}"
    return item.path.parent / "cassettes" / item.path.stem / f"{_clean(name)}.json"


def _clean(name: str) -> str:
    """Return a name that every file system takes."""
    cleaned = _UNFIT.sub("-", name).strip("-. ")
    if len(cleaned) <= _LONGEST and cleaned.isascii():
        return cleaned
    return f"{cleaned[: _LONGEST // 4]}-{hashlib.sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()[:12]}"
