"""What is attached to a question: a picture, a PDF, a recording or a text, known by its content and not by its name."""

import base64
import sys
from collections.abc import Sequence
from pathlib import Path

from hocket._secrets import redact_url
from hocket.cli.fetching import fetch_address
from hocket.cli.standard_input import replace_undecodable
from hocket.errors import InvalidInput
from hocket.messages import HumanMessage

__all__ = ["attach_files", "drop_fragments", "read_attachment"]

MOST_BYTES = 50 * 2**20  # more than any provider takes in one request

_START = "question_start"

Part = dict[str, str]


def attach_files(question: str, names: Sequence[str], before: Sequence[str] = ()) -> str | HumanMessage:
    """Return a question with what is attached to it; one with texts alone stays a text, which every model reads.

    Args:
        question: what is asked.
        names: of files, or addresses; ``-`` is standard input.
        before: texts that come before it; where it begins behind them is noted beside the content (`drop_fragments`).

    Raises:
        InvalidInput, LLMError: as `read_attachment`.
    """
    parts = list(map(read_attachment, names))
    texts = [*before, question, *(part["text"] for part in parts if part["type"] == "text")]
    others = [part for part in parts if part["type"] != "text"]
    text = "\n\n".join(filter(None, texts))
    if not others and not before:
        return text
    content: list[str | dict[str, object]] = [{"type": "text", "text": text}] if text else []
    content += map(dict[str, object], others)
    start = sum(len(one) + 2 for one in before)
    return HumanMessage(content if others else text, additional_kwargs={_START: start} if start else {})


def drop_fragments(message: HumanMessage) -> str:
    """Return a message's text without what comes before the question."""
    start = message.additional_kwargs.get(_START)
    return message.text[start:] if isinstance(start, int) else message.text


def read_attachment(name: str) -> Part:
    """Return a file, or what is at an address, as a part of a message.

    Raises:
        InvalidInput: it cannot be read, is of no known kind, or is too large.
        LLMError: the server of an address cannot be reached, or fails.
    """
    from hocket.document_loaders.files import is_address
    from hocket.messages.formats.blocks import guess_mime_type

    data = _read(name)
    shown = "standard input" if name == "-" else redact_url(name) if is_address(name) else Path(name).name
    shown = replace_undecodable(shown)
    media_type = guess_mime_type(base64.b64encode(data[:12]).decode())
    if media_type is None:
        return {"type": "text", "text": f"{shown}:\n{_decode(name, data)}"}
    kind = media_type.partition("/")[0].replace("application", "file")
    part = {"type": kind, "base64": base64.b64encode(data).decode(), "mime_type": media_type}
    return {**part, "filename": shown.partition("?")[0].rpartition("/")[2] or "file"} if kind == "file" else part


def _read(name: str) -> bytes:
    from hocket.document_loaders.files import is_address

    if is_address(name):
        data = fetch_address(name, MOST_BYTES)
        name = redact_url(name)
    else:
        try:
            with sys.stdin.buffer if name == "-" else Path(name).expanduser().open("rb") as file:
                data = file.read(MOST_BYTES + 1)
        except OSError as error:
            raise InvalidInput(f"cannot read {name}: {error.strerror}") from None
    if len(data) > MOST_BYTES:
        raise InvalidInput(f"cannot attach {name}: it has more than {MOST_BYTES >> 20} MB, which no provider takes")
    if not data:
        raise InvalidInput(f"cannot attach {name}: it is empty")
    return data


def _decode(name: str, data: bytes) -> str:
    try:
        text = data.decode("utf-8-sig")
    except ValueError:
        text = "\0"
    if "\0" in text:
        raise InvalidInput(
            f"cannot attach {name}: it is no picture, PDF, recording or UTF-8 text; `hocket ask` reads other documents"
        )
    return text
