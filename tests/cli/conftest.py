"""The `hocket` command as a shell runs it, and as a person does, in a terminal."""

import codecs
import os
import re
import select
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from hocket.cli import main
from hocket.remote.endpoint import set_kept_keys
from tests.kit import warm

WIDE = (400, 24)  # columns and lines of a window in which nothing breaks
PATIENCE = 30  # seconds; nothing here takes one, unless the machine is very busy
PRIVATE = re.compile("KEY|TOKEN|BASE_URL|HOCKET|COLOR|PROXY", re.IGNORECASE)  # variables of whoever runs the tests
KEPT = ("CONFIG", "DATA", "STATE")  # the user's folders
ENTRY_POINTS = "[hocket.providers]\nacted = acted:make\nplain-echo = acted:plain\nbroken = no_such_module:make\n"
ENTRY_POINTS += "listless = acted:Listless\nkeyed = acted:make_keyed\n"
# The first process of a session takes the terminal that it opens as its own: whose keys send it signals.
IN_TERMINAL = """
import os, sys
os.close(os.open(os.ttyname(0), os.O_RDWR))
from hocket.cli import main
sys.exit(main())
"""


@pytest.fixture
def environ(machine: dict[str, str]) -> dict[str, str]:
    """The environment of a machine where another package, with providers, is installed, and no key: the test's own."""
    return {**machine}


@pytest.fixture(scope="session")
def machine(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment that the tests have copies of."""
    site = tmp_path_factory.mktemp("site")
    package = site / "acted-1.0.dist-info"
    package.mkdir()
    (package / "METADATA").write_text("Metadata-Version: 2.1\nName: acted\nVersion: 1.0\nProvides-Extra: broken\n")
    (package / "entry_points.txt").write_text(ENTRY_POINTS)
    kept = {name: value for name, value in os.environ.items() if not PRIVATE.search(name)}
    path = os.pathsep.join((str(site), str(Path(__file__).parent)))
    home = {f"XDG_{kind}_HOME": str(tmp_path_factory.mktemp(kind.lower())) for kind in KEPT}
    return {
        **kept,
        **home,
        "PYTHONPATH": path,
        "HOCKET_HISTORY": "",
        "HOCKET_TALKS": "",
        "TERM": "xterm",
        "PYTHONWARNINGS": "error",
    }


@pytest.fixture
def hocket(environ: dict[str, str]) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run the command, with nothing piped in unless ``stdin`` is given."""

    def run(*arguments: str, stdin: str | None = None, **more: str) -> subprocess.CompletedProcess[str]:
        return warm.run(
            "-m",
            "hocket",
            *arguments,
            input=stdin,
            env={**environ, **more},
            capture_output=True,
            timeout=PATIENCE,
            may_be_warm="PYTHONPATH" not in more,  # its modules may stand in place of installed ones
        )

    return run


class Done(NamedTuple):
    """How the command ended, and what it wrote."""

    returncode: int
    stdout: str
    stderr: str


@pytest.fixture
def inside(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> Iterator[Callable[..., Done]]:
    """Run the command in this process, which is quicker, on a machine without a key: where a server is what matters."""
    for name in filter(PRIVATE.search, list(os.environ)):
        monkeypatch.delenv(name)
    for kind in KEPT:
        monkeypatch.setenv(f"XDG_{kind}_HOME", str(tmp_path / kind.lower()))
    monkeypatch.setenv("HOCKET_TALKS", "")

    def run(*arguments: str, **more: str) -> Done:
        for name, value in more.items():
            monkeypatch.setenv(name, value)
        return Done(main(arguments), *capsys.readouterr())

    yield run
    set_kept_keys(dict)


class Terminal:
    """The command in a terminal of its own.

    Attributes:
        raw: what came, as it came.
        said: the same without carriage returns.
    """

    def __init__(
        self,
        arguments: tuple[str, ...],
        environ: dict[str, str],
        stdout: int | None = None,
        size: tuple[int, int] = WIDE,
        may_be_warm: bool = True,
    ) -> None:
        import pty
        import termios

        self.raw = self.said = ""
        self._mark = 0
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self._screen, inside = pty.openpty()
        termios.tcsetwinsize(inside, (size[1], size[0]))
        self.process = warm.Program(
            "-c",
            IN_TERMINAL,
            *arguments,
            stdin=inside,
            stdout=inside if stdout is None else stdout,
            stderr=inside,
            env=environ,
            start_new_session=True,
            may_be_warm=may_be_warm,
        )
        os.close(inside)

    def wait_for(self, text: str) -> str:
        """Wait until the screen shows ``text`` after what was waited for before; return all that came in between."""
        while text not in self.said[self._mark :]:
            assert self._read(), f"waited for {text!r}, in vain; this came: {self.said[self._mark :]!r}"
        end = self.said.index(text, self._mark) + len(text)
        shown, self._mark = self.said[self._mark : end], end
        return shown

    def type(self, text: str) -> None:
        """Type, and see it appear."""
        os.write(self._screen, text.encode())
        self.wait_for(text.rstrip("\n").rsplit("\n", 1)[-1])

    def press(self, key: str) -> None:
        """Press a key, once the command does nothing but wait (Python forgets a Ctrl-C that comes in between)."""
        state = Path(f"/proc/{self.process.pid}/stat")
        while (
            state.exists() and state.read_text().rpartition(")")[2].split()[0] not in "SZX"
        ):  # the last two: it is dead
            os.sched_yield()
        os.write(self._screen, key.encode())

    def end(self) -> int:
        """Wait for the command's end; return its exit code."""
        while self._read():
            pass
        return self.process.wait(PATIENCE)

    def close(self) -> None:
        """End it, whatever it does."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
        self.process.wait(PATIENCE)
        os.close(self._screen)

    def _read(self) -> bool:
        ready, _, _ = select.select([self._screen], [], [], PATIENCE)
        try:
            data = os.read(self._screen, 4096) if ready else b""
        except OSError:  # how Linux says that the other side is closed
            data = b""
        text = self._decoder.decode(data)
        self.raw += text
        self.said += re.sub(r"\x1b\[\?2004[hl]", "", text).replace("\r", "")
        return bool(data)


@pytest.fixture
def terminal(environ: dict[str, str]) -> Iterator[Callable[..., Terminal]]:
    """Start `hocket chat`, or another ``command``, in a terminal."""
    if not Path("/proc/self/stat").exists():
        pytest.skip("these tests tell from /proc when the command waits for a key")
    opened: list[Terminal] = []

    def start(
        *arguments: str,
        command: str = "chat",
        stdout: int | None = None,
        size: tuple[int, int] = WIDE,
        **more: str,
    ) -> Terminal:
        opened.append(
            Terminal((command, *arguments), {**environ, **more}, stdout, size, may_be_warm="PYTHONPATH" not in more)
        )
        return opened[-1]

    yield start
    for one in opened:
        one.close()
