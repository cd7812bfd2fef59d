"""A cassette in use: which one rules, what it plays and records, and what is written at its end.

One is in use for the whole process: a sync verb sends from a thread of hocket's, an application that is tested from a loop
of its own, and none of them has the context of the test.
"""

import os
import threading
import warnings
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Self, cast, get_args

import anyio

from hocket._runtime.mode import ASYNC
from hocket._secrets import redact
from hocket.errors import CassetteMiss, InvalidInput, LLMError, StaleCassetteWarning
from hocket.http.clients import ClientSettings, OpenReply, Transport
from hocket.http.interception import add_layer, remove_layer
from hocket.http.request import HTTPRequest
from hocket.http.secrets import find_secrets
from hocket.testing.cassettes.defaults import RecordMode, get_defaults
from hocket.testing.cassettes.exchanges import keep_request
from hocket.testing.cassettes.masking import Scrub, make_masker
from hocket.testing.cassettes.matching import Recordings, describe_miss
from hocket.testing.cassettes.recording import Recorder
from hocket.testing.cassettes.replay import open_recording
from hocket.testing.cassettes.tape import Tape, check_writable, read_tape, write_tape
from hocket.testing.network import network_reopened
from hocket.testing.outcomes import end_test

__all__ = ["cassette"]


class cassette:
    """Answers hocket's HTTP requests out of a file, in which they were recorded before; nothing is sent.

    It is in use, for the whole process, between ``with``, or ``async with``, and its end: for every provider, on both
    event loops, from sync verbs, threads and injected clients. Of several the one that was entered last is in use. A
    request is found by method, path, parameters and JSON body, in any order of its fields; neither the host nor a
    header counts. Equal requests are answered in the order in which they were recorded.

    Args:
        path: of the file.
        record: ``"none"``: nothing is ever sent. ``"once"``: where there is no file, all is sent and recorded. ``"new"``:
            what was not recorded is. ``"all"``: all is recorded again. Default: what ``--hocket-record`` says under
            `hocket.testing.plugin`, else ``"none"``. What is recorded is written at the end, unless the block ends with
            the error of a call.
        ignore: fields of JSON bodies that do not count, by dotted paths: ``("metadata.user", "messages.*.id")``.
        timing: replies take as long as they took.
        scrub: takes out of a text what else is to be in no file. It is given each request, URL and reply. The secrets that
            a request is sent with are taken out in any case, wherever they are repeated.

    Raises:
        InvalidInput: the file is damaged, or of a later version, or cannot be written.
        CassetteMiss: from the call whose request has no recording. It is no ``Exception``.
        LLMError: from the call whose request failed when it was recorded, as it did then.

    Examples:
        >>> import os, tempfile
        >>> from hocket.providers.openai import ChatOpenAI
        >>> from hocket.testing import OpenAIFormat, cassette, serve
        >>> path = os.path.join(tempfile.mkdtemp(), "greeting.json")
        >>> with serve(OpenAIFormat(), "Hello there") as server, cassette(path, record="once"):
        ...     ChatOpenAI(model="m", base_url=server.url, api_key="k").invoke("Hi").text
        'Hello there'
        >>> with cassette(path):
        ...     ChatOpenAI(model="m", api_key="k").invoke("Hi").text
        'Hello there'
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        record: RecordMode | None = None,
        ignore: Iterable[str] = (),
        timing: bool = False,
        scrub: Scrub | None = None,
    ) -> None:
        if record is not None and record not in get_args(RecordMode):
            raise InvalidInput(f"record is {record!r}; it is one of {', '.join(map(repr, get_args(RecordMode)))}")
        if isinstance(ignore, str):
            raise InvalidInput(f"ignore is the text {ignore!r}; it is a list of paths: ignore=[{ignore!r}]")
        self.path: Path = Path(path).absolute()
        self._record: RecordMode | None = record
        self._ignore = tuple(ignore)
        self._timing = timing
        self._scrub = scrub
        self._use: _Use | None = None

    def __repr__(self) -> str:
        return f"<cassette {_show(self.path)!r}>"

    def __enter__(self) -> Self:
        self._start(self._load())
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        use = self._stop()
        if use.is_to_be_written(error):
            use.write()
        use.check(error)

    async def __aenter__(self) -> Self:
        self._start(await ASYNC.call_sync(self._load))
        return self

    async def __aexit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        use = self._stop()
        if use.is_to_be_written(error):
            with anyio.CancelScope(shield=True):  # it was paid for
                await ASYNC.call_sync(use.write)
        use.check(error)

    def _load(self) -> "_Use":
        """Read the file and find out what is to be done."""
        record = self._record or get_defaults().record or "none"
        tape: Tape | None = None
        if record != "all":
            with suppress(FileNotFoundError):
                tape = read_tape(self.path)
        records = record in ("new", "all") or (record == "once" and tape is None)
        if records:
            check_writable(self.path)
        return _Use(self.path, tape, records, self._ignore, self._timing, self._scrub)

    def _start(self, use: "_Use") -> None:
        if self._use is not None:
            raise InvalidInput(f"{self!r} is in use already; make another one, or leave it first")
        use.warn_if_stale()
        self._use = use
        use.start()

    def _stop(self) -> "_Use":
        use, self._use = self._use, None
        assert use is not None  # it was entered
        use.stop()
        return use


class _Use:
    """One use of a cassette, from its beginning to its end."""

    def __init__(
        self,
        path: Path,
        tape: Tape | None,
        records: bool,
        ignore: Sequence[str],
        timing: bool,
        scrub: Scrub | None,
    ) -> None:
        self.recordings = Recordings(tape.exchanges if tape is not None else (), ignore)
        self.recorder: Recorder | None = Recorder() if records else None
        self.timing = timing
        self.scrub = scrub
        self._path = path
        self._shown = _show(path)
        self._tape = tape
        self._ignore = ignore
        self._open = ExitStack()

    def start(self) -> None:
        """Answer requests from now on."""
        if self.recorder is not None:
            self._open.enter_context(network_reopened())
        _deck.push(self)

    def stop(self) -> None:
        """Answer no more."""
        _deck.drop(self)
        self._open.close()

    def warn_if_stale(self) -> None:
        """Say that the file is older than it may be."""
        most = get_defaults().max_age
        recorded = self._tape.recorded if self._tape is not None else None
        if most is None or recorded is None:
            return
        age = (datetime.now(UTC) - recorded).days
        if age > most:
            warnings.warn(
                f"the cassette {self._shown} was recorded {age} days ago, and may be {most:g} days old: record it again "
                "with `pytest --hocket-record=all`",
                StaleCassetteWarning,
                stacklevel=4,
            )

    def is_to_be_written(self, error: BaseException | None) -> bool:
        """Whether there is something to write; what an error of a call has ended is not worth it, and says so."""
        if self.recorder is None or not len(self.recorder):
            return False
        if LLMError.within(error) is None:
            return True
        assert error is not None
        error.add_note(f"{self._shown} was not written, since a call failed: what was recorded is no whole talk")
        get_defaults().written[self._path] = 0
        return False

    def write(self) -> None:
        """Write the new recordings after those of the file."""
        assert self.recorder is not None
        kept = list(self.recorder.keep(self.scrub))
        write_tape(self._path, [*self.recordings.exchanges, *kept])
        get_defaults().written[self._path] = len(kept)

    def check(self, error: BaseException | None) -> None:
        """Fail if there are unused recordings, where that is a failure.

        Raises:
            AssertionError: that is so.
        """
        if error is not None or self.recorder is not None or not get_defaults().strict:
            return
        unused = self.recordings.list_unused()
        if unused:
            names = ", ".join(sorted({f"{one.request.method} {one.request.url}" for one in unused}))
            raise AssertionError(
                f"{len(unused)} of {len(self.recordings.exchanges)} exchanges in {self._shown} were not used ({names}): "
                "record it again with `pytest --hocket-record=all`, or leave out `--hocket-strict`"
            )

    def explain_miss(self, request: HTTPRequest, secrets: Sequence[str]) -> CassetteMiss:
        """Return the error for a request that has no recording."""
        kept = keep_request(request, make_masker(tuple(secrets), self.scrub))
        if self._tape is None:
            what = f"{kept.method} {kept.url} has no recording: {self._shown} is not there"
        else:
            what = describe_miss(kept, self.recordings, self._shown, self._ignore)
        how = "once" if self._tape is None else "new"
        again = "" if self._tape is None else '; "all" records everything again'
        way = f"`pytest --hocket-record={how}`" if get_defaults().is_pytest else f'cassette(..., record="{how}")'
        return end_test(CassetteMiss, redact(f"{what}\n\nTo record it: {way}{again}.", secrets))


def _show(path: Path) -> str:
    """Return a path as it reads best."""
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)


class _Deck:
    """The layer over every request, while there is a cassette: the one that was put in use last answers."""

    def __init__(self) -> None:
        self._uses: list[_Use] = []
        self._lock = threading.Lock()

    def push(self, use: _Use) -> None:
        """Put one in use."""
        with self._lock:
            self._uses.append(use)
            if len(self._uses) == 1:
                add_layer(self)

    def drop(self, use: _Use) -> None:
        """Put one out of use."""
        with self._lock:
            self._uses.remove(use)
            if not self._uses:
                remove_layer(self)

    @property
    def answers_all(self) -> bool:
        """Whether nothing is recorded."""
        uses = self._uses[-1:]
        return bool(uses) and uses[0].recorder is None

    def wrap(self, transport: Transport, settings: ClientSettings, client: object) -> Transport:
        """Return what answers instead."""
        uses = self._uses[-1:]
        return _Player(uses[0], transport, settings, client) if uses else transport


_deck = _Deck()


class _Player:
    """Answers a request out of a cassette, or has it sent and recorded."""

    def __init__(self, use: _Use, transport: Transport, settings: ClientSettings, client: object) -> None:
        self._use = use
        self._transport = transport
        self._proxy = settings.proxy
        self._client = client

    async def open(self, request: HTTPRequest) -> OpenReply:
        """Return the reply that was recorded, or that comes now.

        Raises:
            CassetteMiss: there is no recording, and none is made.
        """
        use = self._use
        # Passwords of proxies that the environment names: to look for them takes longer than to replay a reply.
        secrets = self._find_secrets(request, self._proxy if use.recorder is not None else self._proxy or "")
        exchange = use.recordings.take(keep_request(request, make_masker(tuple(secrets), use.scrub)))
        if exchange is not None:
            return await open_recording(exchange, timing=use.timing)
        if use.recorder is not None:
            return await use.recorder.open(request, self._transport, secrets)
        raise use.explain_miss(request, self._find_secrets(request, self._proxy))

    def _find_secrets(self, request: HTTPRequest, proxy: str | None) -> list[str]:
        of_client = cast("Mapping[str, str]", getattr(self._client, "headers", None) or {})
        return find_secrets([request.headers, of_client], [request.url], proxy)
