"""Anthropic's ``/messages/batches``. A batch has no name of ours there: whose it is, the custom ids of its results say."""

from collections.abc import Sequence
from typing import ClassVar

from hocket.http.request import HTTPReply, HTTPRequest
from hocket.messages.content import FieldsView
from hocket.providers.anthropic.error_types import ERROR_STATUSES
from hocket.remote.batch_api import BatchAPI, BatchState, make_reply, number_at, object_at, read_time

__all__ = ["AnthropicBatches"]

_UNREACHED = ("canceled", "expired")


class AnthropicBatches(BatchAPI):
    """Anthropic's batches. Its betas are headers, which each request has."""

    max_rows: ClassVar[int] = 100_000
    shows_keys: bool = False
    full_words: ClassVar[frozenset[str]] = frozenset({"rate_limit_error"})

    def encode_line(self, custom_id: str, content: bytes) -> bytes:
        return b'{"custom_id":"%b","params":%b}\n' % (custom_id.encode(), content)

    def create(self, key: str, lines: Sequence[bytes], file: str | None) -> HTTPRequest:
        return self._post(self._batches, b'{"requests":[%b]}' % b",".join(line.rstrip() for line in lines))

    def read_state(self, data: FieldsView) -> BatchState:
        id, word, counts = str(data["id"]), str(data["processing_status"]), object_at(data, "request_counts")
        done = sum(number_at(counts, name) for name in ("succeeded", "errored", *_UNREACHED))
        return BatchState(
            id=id,
            key=None,
            state="ended" if word == "ended" else "running",
            created_at=read_time(data.get("created_at")),
            total=done + number_at(counts, "processing"),
            done=done,
            word=word,
            results=(id,) if word == "ended" else (),
        )

    def list(self, cursor: str | None) -> HTTPRequest:
        return self._get_list(limit=100, after_id=cursor)

    def fetch(self, place: str) -> HTTPRequest:
        return self._get(f"{self._locate(place)}/results", "*/*")  # not its ``results_url``, which may be anywhere

    def read_line(self, line: FieldsView) -> tuple[str, HTTPReply | None]:
        id, result = line["custom_id"], line["result"]
        if result["type"] in _UNREACHED:
            return id, None
        if result["type"] == "succeeded":
            return id, make_reply(200, result["message"])
        error = result["error"]
        return id, make_reply(ERROR_STATUSES.get(object_at(error, "error").get("type", ""), 500), error)
