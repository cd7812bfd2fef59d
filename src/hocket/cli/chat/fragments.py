"""``--fragment``: texts that come before the question, each under its name, as an attached text does.

A repository is fetched without a working tree: nothing of it is written to the disk under its own name, no link of it is
followed, and none of its hooks runs.
"""

import os
import re
import subprocess
import tarfile
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from hocket._secrets import redact_url
from hocket.cli.chat.attachments import read_attachment
from hocket.cli.output import note, squeeze
from hocket.cli.standard_input import replace_undecodable
from hocket.document_loaders import open_documents
from hocket.errors import InvalidInput, ProviderUnavailable, RequestTimeout

__all__ = ["find_files", "read_fragments"]

MOST_BYTES = 4 * 2**20  # of all fragments: about a million tokens, more than most models read
PATIENCE = 120.0  # seconds for git

_GIT = ("git", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "http.followRedirects=false")
_MAGIC = re.compile(r"[*?\[]")


def read_fragments(names: Sequence[str]) -> list[str]:
    """Return the texts of fragments.

    Args:
        names: of files, folders, patterns (``src/**/*.py``), addresses or repositories (``github:owner/name``,
            ``https://host/name.git``, either with ``:docs`` for a part of it); ``-`` is standard input.

    Raises:
        InvalidInput, DocumentError: one cannot be read, or has no text, or all of them are too large.
        LLMError: a server cannot be reached, or fails.
    """
    texts: list[str] = []
    left = MOST_BYTES
    for name in names:
        before = len(texts)
        for text in _read(name):
            left -= len(text.encode())
            if left < 0:
                raise InvalidInput(
                    f"-f {redact_url(name)}: the fragments have more than {MOST_BYTES >> 20} MB; name a part, such as "
                    "'src/**/*.py', or ask about all of it with `hocket ask`"
                )
            texts.append(text)
        if len(texts) == before:
            raise InvalidInput(f"-f {redact_url(name)}: no text was found there; check the path")
    return texts


def _read(name: str) -> Iterator[str]:
    path = Path(name).expanduser()
    if found := re.fullmatch(r"(?:github:([\w.-]+/[\w.-]+)|(https?://\S+?\.git))(?::(.+))?", name):
        yield from _read_repository(found[2] or f"https://github.com/{found[1]}", found[3])
    elif path.is_dir() or (_MAGIC.search(name) and "://" not in name and not path.exists()):
        yield from _take_texts((file, _read_file(file)) for file in find_files(path) if os.path.isfile(file))
    else:
        part = read_attachment(name)
        if part["type"] != "text":
            raise InvalidInput(f"-f {redact_url(name)} is no text; -a attaches it")
        yield part["text"]


def _take_texts(files: Iterable[tuple[str, bytes]]) -> Iterator[str]:
    """Yield those files that are texts, each under its name, and tell how many are not."""
    passed_over = 0
    for name, data in files:
        try:
            text = data.decode("utf-8-sig")
        except ValueError:
            text = "\0"
        if "\0" in text:
            passed_over += 1
        elif text.strip():
            yield f"{replace_undecodable(name)}:\n{text}"
    if passed_over:
        note(f"passed over {passed_over} files that are no UTF-8 text")


def find_files(path: Path) -> list[str]:
    """Return the files of a folder, or those that a pattern means; of a working tree those that git does not ignore.

    Raises:
        DocumentError: there is no such file or folder.
    """
    if (path / ".git").exists():
        names = _run_git("-C", str(path), "ls-files", "-z", "--cached", "--others", "--exclude-standard")
        files = [path / name for name in sorted(os.fsdecode(names).split("\0")) if name]
        return [str(file) for file in files if file.is_file() and not file.is_symlink()]
    at = next((at for at, part in enumerate(path.parts) if _MAGIC.search(part)), len(path.parts))
    if path.exists() or at == len(path.parts):
        return open_documents(path).list_files()
    base = Path(*path.parts[:at])
    return open_documents(base, glob="/".join(path.parts[at:]), on_error=lambda error: note(str(error))).list_files()


def _read_file(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read(MOST_BYTES + 1)
    except OSError as error:
        raise InvalidInput(f"-f {path}: {error.strerror}") from None


def _read_repository(address: str, part: str | None) -> Iterator[str]:
    """Yield the texts of a repository as it is now; ``part``: of a path in it, or of those that a pattern means."""
    with tempfile.TemporaryDirectory() as folder:
        _run_git("clone", "--quiet", "--bare", "--depth=1", "--template=", "--", address, folder)
        archive = os.path.join(folder, "hocket.tar")
        wanted = () if part is None else ("--", f":(glob){part}")
        _run_git("-C", folder, "archive", f"--output={archive}", "HEAD", *wanted)
        with tarfile.open(archive) as tar:
            members = ((one.name, tar.extractfile(one)) for one in tar if one.isfile())
            yield from _take_texts((name, file.read(MOST_BYTES + 1)) for name, file in members if file is not None)


def _run_git(*words: str) -> bytes:
    """Run git, which asks nothing; return what it prints.

    Raises:
        InvalidInput: it refuses, or is not installed.
        LLMError: a server cannot be reached, or takes too long.
    """
    env = {**os.environ, "GIT_TERMINAL_PROMPT": "0", "GIT_LFS_SKIP_SMUDGE": "1"}
    try:
        done = subprocess.run([*_GIT, *words], stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE, env=env)
    except FileNotFoundError:
        raise InvalidInput("-f of a repository needs git, which is not installed; name its files") from None
    except subprocess.TimeoutExpired:
        raise RequestTimeout(f"git took more than {PATIENCE:g} s; try again later") from None
    if not done.returncode:
        return done.stdout
    said = re.sub(r"https?://\S+", lambda url: redact_url(url[0]), squeeze(done.stderr.decode(errors="replace")))
    if re.search(r"unable to access(?!.*returned error: 4)", said):
        raise ProviderUnavailable(f"-f: git says: {said}")
    raise InvalidInput(f"-f: git says: {said}")
