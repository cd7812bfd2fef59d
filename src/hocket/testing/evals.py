"""The part of the pytest plugin that is about tests marked ``eval``: each is a case, and none of them fails a suite alone.

Behind the last case of a function comes one more item, its verdict. It fails when the rate of the cases that pass is
certainly below the one that is wanted: a model that is right nine times of ten does not break a build once a day.
"""

from collections.abc import Generator
from typing import Any

import pytest

from hocket.errors import BudgetError, CassetteMiss, LLMError, ModelRequestsBlocked, StoreError, ToolException
from hocket.evaluation.statistics import estimate_mean

__all__ = ["EvalHooks"]

_MARKER = (
    "eval(min_pass=1.0, repeats=1, strict=False, confidence=0.95): each parameter set is a case of an evaluation; the "
    "item [verdict] fails when the rate of passes is certainly below min_pass, or, if strict, not certainly at it."
)
_DEFAULTS: dict[str, Any] = {"min_pass": 1.0, "repeats": 1, "strict": False, "confidence": 0.95}
_RUN = "hocket_eval_run"
_PROPERTY = "hocket_eval"
_NOT_HERE = (LLMError, BudgetError, StoreError, ToolException)


class _Verdict(pytest.Item):
    """What the cases of one function come to.

    Attributes:
        options: of the marker.
        expected: runs that were collected.
        seen: runs that have ended.
        passed: for each case whether its runs have passed, 1.0 or 0.0; those without an answer are not in it.
    """

    def __init__(self, *, options: dict[str, Any], **settings: Any) -> None:
        super().__init__(**settings)  # pyright: ignore[reportUnknownMemberType]  # pytest has no types for it
        self.options = options
        self.expected = self.seen = 0
        self.passed: dict[str, list[float]] = {}

    def runtest(self) -> None:
        """Fail, if the rate is certainly too low."""
        if self.seen < self.expected:
            pytest.fail(
                f"{self.seen} of {self.expected} runs are here: the others had an error, or ran in other processes (with "
                "pytest-xdist, give --dist loadfile)",
                pytrace=False,
            )
        if not self.passed:
            self.user_properties.append((_PROPERTY, f"{self._name()}: no case has an answer"))
            pytest.skip("no case has an answer")
        least: float = self.options["min_pass"]
        rate = estimate_mean(list(self.passed.values()), self.options["confidence"])
        is_met = rate.low >= least or (least == 1 and rate.value == 1)
        word = "met" if is_met else "missed" if rate.high < least else "not decided"
        flaky = sorted(case for case, values in self.passed.items() if len(set(values)) > 1)
        cases = len(self.passed)
        line = (
            f"{self._name()}: {rate.value:.1%} [{rate.low:.1%}, {rate.high:.1%}] of {cases} case{'s' * (cases != 1)}; "
            f"min_pass {least:.1%}: {word}" + (f"; flaky: {', '.join(flaky)}" if flaky else "")
        )
        self.user_properties.append((_PROPERTY, line))
        if word == "missed" or (self.options["strict"] and word != "met"):
            pytest.fail(line, pytrace=False)

    def reportinfo(self) -> tuple[Any, int | None, str]:
        """Return where it stands: with its function's file."""
        return self.path, None, self.name

    def _name(self) -> str:
        return self.nodeid.removesuffix("[verdict]")


_verdict = pytest.StashKey[_Verdict]()


class EvalHooks:
    """Hooks of pytest.

    Args:
        config: of the session.
    """

    def __init__(self, config: pytest.Config) -> None:
        config.addinivalue_line("markers", _MARKER)
        self._lines: list[str] = []

    @pytest.hookimpl(tryfirst=True)
    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """Make an item of each repeat."""
        repeats = _read_options(metafunc.definition)["repeats"]
        if repeats > 1:
            metafunc.fixturenames.append(_RUN)
            metafunc.parametrize(_RUN, range(repeats), ids=[f"run{run}" for run in range(repeats)])

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        """Leave the second loop out, for an answer is paid for once; put a verdict behind the last case of a function.

        It comes last: what was not selected is no part of a verdict.
        """
        groups: dict[tuple[Any, str], list[pytest.Function]] = {}
        for item in items:
            if isinstance(item, pytest.Function) and item.get_closest_marker("eval") is not None:
                groups.setdefault((item.parent, item.originalname), []).append(item)
        left: set[pytest.Item] = set()
        behind: dict[pytest.Item, _Verdict] = {}
        for (parent, name), group in groups.items():
            loops = [_find_loop(item) for item in group]
            loop = "asyncio" if "asyncio" in loops else loops[0]
            kept = [item for item in group if _find_loop(item) == loop]
            left.update({*group} - {*kept})
            settings: Any = {"name": f"{name}[verdict]", "options": _read_options(kept[0])}
            verdict = _Verdict.from_parent(parent, **settings)  # pyright: ignore[reportUnknownMemberType]  # pytest has no types for it
            verdict.expected = len(kept)
            for item in kept:
                item.stash[_verdict] = verdict
            behind[kept[-1]] = verdict
        if left:
            config.hook.pytest_deselected(items=[item for item in items if item in left])
        items[:] = [
            one for item in items if item not in left for one in ([item, behind[item]] if item in behind else [item])
        ]

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, Any]:
        """Note how a run of a case has ended: a failure is shown as one that was expected, and no answer as a skip."""
        report: pytest.TestReport = yield
        verdict = item.stash.get(_verdict, None)
        error = None if call.excinfo is None else call.excinfo.value
        if verdict is None or call.when != "call" or isinstance(error, CassetteMiss | ModelRequestsBlocked):
            return report  # the last two are mistakes of the test's
        verdict.seen += 1
        if error is not None and _is_missing(error):
            report.outcome = "skipped"
            report.longrepr = (str(item.path), item.location[1] or 0, f"no answer: {type(error).__name__}: {error}")
        elif not report.skipped:
            verdict.passed.setdefault(_name_case(item), []).append(float(report.passed))
            if report.failed:
                report.outcome = "skipped"
                report.wasxfail = f"a case of an evaluation: {str(error).partition(chr(10))[0]}"
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Collect the lines of verdicts, in the process that talks to the user."""
        if report.when == "call":
            self._lines += [str(value) for name, value in report.user_properties if name == _PROPERTY]

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Say what each function came to."""
        if self._lines:
            terminalreporter.section("evals")
            for line in self._lines:
                terminalreporter.line(line)


def _is_missing(error: BaseException) -> bool:
    """Whether a run has no answer: a server, a budget, a key or a store has failed, and not the test."""
    from hocket.evaluation.files import is_fault  # bulk runs, which a suite without a failure need not load

    return isinstance(error, _NOT_HERE) and not is_fault(type(error))


def _read_options(item: Any) -> dict[str, Any]:
    """Return the options of a test's marker, with the defaults; without a marker the defaults.

    Raises:
        pytest.fail.Exception: there is no such option, or its value cannot be used.
    """
    mark = item.get_closest_marker("eval")
    given: dict[str, Any] = {} if mark is None else dict(mark.kwargs)
    options = _DEFAULTS | given
    least, repeats, confidence = options["min_pass"], options["repeats"], options["confidence"]
    wrong = ""
    if mark is not None and (mark.args or options.keys() > _DEFAULTS.keys()):
        wrong = f"takes {', '.join(_DEFAULTS)}, by name"
    elif not 0 < least <= 1:
        wrong = f"has min_pass={least!r}; it is more than 0, and 1 at most"
    elif not isinstance(repeats, int) or repeats < 1:
        wrong = f"has repeats={repeats!r}; it is a whole number, 1 or more"
    elif not 0 < confidence < 1:
        wrong = f"has confidence={confidence!r}; it lies between 0 and 1"
    elif options["strict"] and least == 1:
        wrong = "is strict with min_pass=1.0, of which no number of passes makes sure; give a lower one, such as 0.95"
    if wrong:
        pytest.fail(f"{item.nodeid}: the marker eval {wrong}", pytrace=False)
    return options


def _find_loop(item: pytest.Item) -> str:
    """Return the name of the loop that a test runs on; "": it runs on none, or the suite has one only."""
    callspec: Any = getattr(item, "callspec", None)
    backend: Any = None if callspec is None else callspec.params.get("anyio_backend")
    return "" if backend is None else backend if isinstance(backend, str) else str(backend[0])


def _name_case(item: pytest.Item) -> str:
    """Return the id of a parameter set, without the run and the loop; of a function without parameters, its name."""
    callspec: Any = getattr(item, "callspec", None)
    words: list[str] = [] if callspec is None else callspec.id.split("-")
    if callspec is not None and _RUN in callspec.params:
        words.remove(f"run{callspec.params[_RUN]}")
    if (loop := _find_loop(item)) in words:
        words.remove(loop)
    return "-".join(words) or item.name.partition("[")[0]
