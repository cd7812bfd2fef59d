"""Tests marked `eval`: cases that fail nothing alone, and a verdict over all of them."""

import pytest

from tests.testing.test_plugin import suite

__all__ = ["suite"]

CASES = """
import pytest
from hocket.errors import BudgetExceeded, InvalidReply, ModelRequestsBlocked, ProviderUnavailable, RetryTool
from hocket.errors import ToolServerUnavailable
from hocket.testing.outcomes import end_test

ASKED = []

def check(number, right):
    ASKED.append(number)
    assert number < right, f"{number} is wrong"
"""


def write(suite: pytest.Pytester, code: str, name: str = "test_bot") -> None:
    suite.makepyfile(**{name: CASES + code})


@pytest.mark.parametrize(
    ("right", "mark", "outcomes", "line"),
    [
        (20, "", {"passed": 21}, "100.0% [[]83.9%, 100.0%] of 20 cases; min_pass 100.0%: met"),
        (19, "", {"passed": 19, "xfailed": 1, "failed": 1}, "95.0% [[]*%, 99.1%] of 20 cases; min_pass 100.0%: missed"),
        (17, "min_pass=0.9", {"passed": 18, "xfailed": 3}, "85.0% [[]*] of 20 cases; min_pass 90.0%: not decided"),
        (12, "min_pass=0.9", {"passed": 12, "xfailed": 8, "failed": 1}, "60.0% [[]*] of 20 cases; *: missed"),
        (19, "min_pass=0.9, strict=True", {"passed": 19, "xfailed": 1, "failed": 1}, "95.0% [[]*: not decided"),
        (20, "min_pass=0.8, strict=True", {"passed": 21}, "100.0% [[]*: met"),
        (20, "min_pass=0.8, confidence=0.99, strict=True", {"passed": 20, "failed": 1}, "100.0% [[]75*: not decided"),
    ],
)
def test_a_verdict(suite: pytest.Pytester, right: int, mark: str, outcomes: dict[str, int], line: str) -> None:
    """Fails when the rate is certainly below; if strict, unless it is certainly not."""
    write(
        suite,
        f"""
@pytest.mark.eval({mark})
@pytest.mark.parametrize("number", range(20))
def test_case(number):
    check(number, {right})

def test_other():
    assert len(ASKED) == 20
""",
    )
    result = suite.runpytest()
    result.assert_outcomes(**{**outcomes, "passed": outcomes["passed"] + 1})
    result.stdout.fnmatch_lines(["*= evals =*", f"test_bot.py::test_case: {line}"])
    assert ("[verdict]" in result.stdout.str()) == ("failed" in outcomes)


def test_repeats_and_loops(suite: pytest.Pytester) -> None:
    """Each repeat is an item; a case whose repeats differ is flaky, and counts once; there is no second loop."""
    write(
        suite,
        """
SEEN = []

@pytest.mark.eval(min_pass=0.3, repeats=3)
@pytest.mark.parametrize("question, answer", [("a", 1), ("run1", 2)])
class TestBot:
    async def test_support(self, question, answer, anyio_backend_name):
        SEEN.append(question)
        assert anyio_backend_name == "asyncio"
        assert question != "a" or SEEN.count("a") != 2

async def test_on_both_loops():
    assert len(SEEN) == 6
""",
    )
    result = suite.runpytest("-v", "-rx")
    result.assert_outcomes(passed=8, xfailed=1, deselected=6)
    result.stdout.fnmatch_lines(
        [
            "*test_bot.py::TestBot::test_support*run0*a-1*PASSED*",
            "*test_bot.py::TestBot::test_support[[]verdict] PASSED*",
            "*::test_support: 83.3% [[]*] of 2 cases; min_pass 30.0%: not decided; flaky: a-1",
            "XFAIL*a case of an evaluation: assert ('a' != 'a' or 2 != 2)",
        ]
    )


def test_without_an_answer(suite: pytest.Pytester) -> None:
    """A failure of a server, a key or a budget is a skip; one of the answer is a failure, and one of a fixture an error."""
    write(
        suite,
        """
ERRORS = [None, ProviderUnavailable("busy"), BudgetExceeded("spent"), InvalidReply("junk"), KeyError("x")]
ERRORS += [ToolServerUnavailable("gone"), RetryTool("no such order")]

@pytest.mark.eval(min_pass=0.1)
@pytest.mark.parametrize("error", ERRORS)
def test_some(error):
    if error:
        raise error

@pytest.mark.eval
def test_none():
    raise ProviderUnavailable("busy")

@pytest.mark.eval
@pytest.mark.parametrize("number", range(2))
def test_blocked(number):
    if number:
        raise end_test(ModelRequestsBlocked, "no network here")

@pytest.fixture
def broken(request):
    assert request.node.name != "test_broken[1]"

@pytest.mark.eval
@pytest.mark.parametrize("number", range(3))
def test_broken(number, broken):
    pass
""",
    )
    result = suite.runpytest("-rs")
    result.assert_outcomes(passed=1 + 1 + 1 + 2, skipped=3 + 2, xfailed=3, errors=1, failed=1 + 1 + 1)
    result.stdout.fnmatch_lines(
        [
            "*test_some: 25.0% [[]*] of 4 cases; min_pass 10.0%: not decided",
            "*test_none: no case has an answer",
            "SKIPPED*no answer: ProviderUnavailable: *busy",
        ]
    )
    for counts in ("1 of 2", "2 of 3"):
        assert f"{counts} runs are here: the others had an error" in result.stdout.str()


def test_what_is_not_selected(suite: pytest.Pytester) -> None:
    """Is no part of the verdict, and no verdict is alone."""
    write(
        suite,
        """
@pytest.mark.eval
@pytest.mark.parametrize("number", range(5))
def test_case(number):
    check(number, 3)
""",
    )
    result = suite.runpytest("-k", "2 or 1")
    result.assert_outcomes(passed=3, deselected=3)
    result.stdout.fnmatch_lines(["*test_case: 100.0% [[]*] of 2 cases; *: met"])
    suite.runpytest("-k", "verdict").assert_outcomes(deselected=5)


@pytest.mark.nightly
@pytest.mark.parametrize(("dist", "is_whole"), [("loadfile", True), ("load", False)])
def test_several_processes(suite: pytest.Pytester, dist: str, is_whole: bool) -> None:
    """The line of a verdict comes from the process that ran it; one that has not seen all runs fails and says so."""
    for name in ("test_one", "test_two"):
        write(
            suite,
            """
@pytest.mark.eval(min_pass=0.5)
@pytest.mark.parametrize("number", range(8))
def test_case(number):
    check(number, 7)
""",
            name,
        )
    result = suite.runpytest_subprocess("-n2", "--dist", dist)
    text = result.stdout.str()
    if is_whole:
        result.assert_outcomes(passed=16, xfailed=2)
        assert text.count("::test_case: 87.5% [") == 2
    else:
        assert result.parseoutcomes()["failed"] >= 1 and "give --dist loadfile" in text


@pytest.mark.parametrize(
    ("mark", "text"),
    [
        ("0.9", "takes min_pass, repeats, strict, confidence, by name"),
        ("minpass=0.9", "takes min_pass, repeats"),
        ("min_pass=90", "has min_pass=90; it is more than 0"),
        ("repeats=0", "has repeats=0; it is a whole number"),
        ("confidence=1", "has confidence=1; it lies between"),
        ("strict=True", "is strict with min_pass=1.0"),
    ],
)
def test_marks_that_cannot_be_used(suite: pytest.Pytester, mark: str, text: str) -> None:
    """Are named before anything runs."""
    write(suite, f"\n@pytest.mark.eval({mark})\ndef test_case():\n    pass\n")
    result = suite.runpytest()
    assert result.ret != 0
    assert text in result.stdout.str()
    assert "test_bot.py::test_case: the marker eval " in result.stdout.str() + result.stderr.str()
