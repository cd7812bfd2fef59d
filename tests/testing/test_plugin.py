"""The pytest plugin, switched on in the conftest of a suite that stands for a user's."""

import pytest


@pytest.fixture
def suite(pytester: pytest.Pytester) -> pytest.Pytester:
    """A user's suite with the plugin on, and warnings as errors."""
    pytester.makeini(
        "[pytest]\naddopts = --strict-markers -p no:randomly\nfilterwarnings = error\n"
        "asyncio_default_fixture_loop_scope = function\n"
    )
    pytester.makeconftest('pytest_plugins = ["hocket.testing.plugin"]')
    return pytester


def test_async_tests_run_on_both_loops(suite: pytest.Pytester) -> None:
    """Functions, methods, hypothesis tests and async fixtures, without a mark on any of them."""
    suite.makepyfile(
        """
        import pytest, sniffio
        from hypothesis import given, settings, strategies

        @pytest.fixture
        async def loop():
            yield sniffio.current_async_library()

        async def test_function(loop, anyio_backend_name):
            assert loop == anyio_backend_name == sniffio.current_async_library()

        class TestClass:
            async def test_method(self, loop):
                assert loop == sniffio.current_async_library()

        @settings(max_examples=3, database=None)
        @given(number=strategies.integers())
        async def test_property(number):
            assert sniffio.current_async_library() in ("asyncio", "trio")

        def test_sync(request):
            assert "anyio_backend" not in request.fixturenames
        """
    )
    result = suite.runpytest("-v")
    result.assert_outcomes(passed=7)
    result.stdout.fnmatch_lines_random(
        ["*test_function?asyncio?*", "*test_function?trio?*", "*test_method?trio?*", "*test_property?trio?*"]
    )


def test_tests_of_pytest_asyncio_are_left_alone(suite: pytest.Pytester) -> None:
    """A suite can move over test by test: what is marked `asyncio`, in any of the three ways, runs once, as before."""
    suite.makepyfile(
        test_marked="""
        import asyncio, pytest

        @pytest.mark.asyncio
        async def test_function(request):
            assert "anyio_backend" not in request.fixturenames
            assert asyncio.get_running_loop()

        @pytest.mark.asyncio
        class TestClass:
            async def test_method(self):
                assert asyncio.get_running_loop()
        """,
        test_module="""
        import asyncio, pytest
        pytestmark = pytest.mark.asyncio

        async def test_function():
            assert asyncio.get_running_loop()
        """,
    )
    suite.runpytest().assert_outcomes(passed=3)


def test_the_network_is_closed_to_every_test(suite: pytest.Pytester) -> None:
    """Sync and async tests and the set-up of fixtures are refused; a marked test is let through."""
    suite.makepyfile(
        """
        import socket, anyio, pytest

        @pytest.fixture(scope="session")
        def far_away():
            socket.getaddrinfo("example.org", 443)

        def test_sync():
            with pytest.raises(RuntimeError, match="example.org"):
                socket.getaddrinfo("example.org", 443)

        async def test_async():
            with pytest.raises(RuntimeError, match="example.org"):
                await anyio.connect_tcp("example.org", 443)

        def test_fixture(far_away):
            pass

        @pytest.mark.allow_network
        def test_allowed():
            assert not hasattr(socket.getaddrinfo, "__wrapped__")
        """
    )
    result = run_alone(suite)
    result.assert_outcomes(passed=4, errors=1)
    result.stdout.fnmatch_lines(["*RuntimeError: A look-up of the host 'example.org' was refused*"])


def test_the_fixture_puts_a_virtual_clock_in_use(suite: pytest.Pytester) -> None:
    """It jumps by itself, for sync and async tests, and each test has a new one."""
    suite.makepyfile(
        """
        from hocket._runtime import clock

        async def test_async(virtual_clock):
            assert clock.current() is virtual_clock
            await virtual_clock.sleep(3600)
            assert virtual_clock.now() == 3600.0

        def test_sync(virtual_clock):
            clock.current().block(60)
            assert virtual_clock.now() == 60.0

        def test_without():
            assert isinstance(clock.current(), clock.RealClock)
        """
    )
    suite.runpytest().assert_outcomes(passed=4)


def test_a_suite_can_choose_one_loop(suite: pytest.Pytester) -> None:
    """An `anyio_backend` of the user's own comes before the plugin's."""
    suite.makepyfile(
        """
        import pytest, sniffio

        @pytest.fixture
        def anyio_backend():
            return "trio"

        async def test_function():
            assert sniffio.current_async_library() == "trio"
        """
    )
    suite.runpytest().assert_outcomes(passed=1)


def test_without_trio_its_half_is_skipped_with_the_reason(suite: pytest.Pytester) -> None:
    """The asyncio half still runs; the skip says how to run the other."""
    suite.makepyfile(
        sitecustomize="""
        import importlib.util
        find_spec = importlib.util.find_spec
        importlib.util.find_spec = lambda name, *rest: None if name == "trio" else find_spec(name, *rest)
        """,
        test_one="async def test_function(): pass",
    )
    result = run_alone(suite, "-rs", PYTHONPATH=str(suite.path))
    result.assert_outcomes(passed=1, skipped=1)
    result.stdout.fnmatch_lines(["*trio is not installed (`pip install trio`*"])


def test_without_anyios_plugin_it_says_so(suite: pytest.Pytester) -> None:
    """Async tests would silently not run: an error at the start names the way out."""
    suite.makepyfile("async def test_function(): pass")
    result = run_alone(suite, "-p", "no:anyio")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*`-p anyio`*"])


def test_installing_hocket_switches_nothing_on(pytester: pytest.Pytester) -> None:
    """Without the line in the conftest no test changes its meaning."""
    pytester.makepyfile(
        """
        import socket

        def test_plain(request):
            assert not request.config.pluginmanager.has_plugin("hocket.testing.plugin")
            assert not hasattr(socket.getaddrinfo, "__wrapped__")
        """
    )
    run_alone(pytester).assert_outcomes(passed=1)


def run_alone(suite: pytest.Pytester, *options: str, **environment: str) -> pytest.RunResult:
    """Run the suite in a process of its own, away from this one's guards and plugins."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in environment.items():
            patch.setenv(name, value)
        return suite.runpytest_subprocess(*options)
