"""Mistral's ``/batch/jobs`` and ``/files``. The job names the model; rows that it did not come to are in no file."""

from collections.abc import Sequence
from typing import ClassVar

from pydantic_core import from_json

from hocket.http.request import HTTPRequest, json_bytes
from hocket.messages.content import FieldsView
from hocket.remote.batch_api import BatchState, FileBatchAPI, number_at, object_at, read_time

__all__ = ["MistralBatches"]

_PAGE = 100
_ENDED = ("SUCCESS", "TIMEOUT_EXCEEDED", "CANCELLED")


class MistralBatches(FileBatchAPI):
    """Mistral's batches."""

    _end = "/chat/completions"
    _place = "batch/jobs"
    full_words: ClassVar[frozenset[str]] = frozenset({"1300", "rate_limited"})  # code and type of the same error

    def encode_line(self, custom_id: str, content: bytes) -> bytes:
        body: FieldsView = from_json(content)
        row = {name: value for name, value in body.items() if name != "model"}
        return b'{"custom_id":"%b","body":%b}\n' % (custom_id.encode(), json_bytes(row))

    def create(self, key: str, lines: Sequence[bytes], file: str | None) -> HTTPRequest:
        job = {"input_files": [file], "endpoint": "/v1/chat/completions", "model": self.like.json["model"]}
        return self._post(self._batches, {**job, "metadata": {"hocket": key}, "timeout_hours": 24})

    def read_state(self, data: FieldsView) -> BatchState:
        word = str(data["status"])
        errors: Sequence[FieldsView] = data.get("errors") or ()
        return BatchState(
            id=str(data["id"]),
            key=object_at(data, "metadata").get("hocket"),
            state="ended" if word in _ENDED else "failed" if word == "FAILED" else "running",
            created_at=read_time(data.get("created_at")),
            total=number_at(data, "total_requests"),
            done=number_at(data, "completed_requests"),
            word=word,
            message="; ".join(str(error.get("message")) for error in errors[:3]),
            results=tuple(file for end in ("output", "error") if (file := data.get(f"{end}_file"))),
        )

    def list(self, cursor: str | None) -> HTTPRequest:
        return self._get_list(page=cursor or 0, page_size=_PAGE, order_by="-created")

    def read_list(self, data: FieldsView, cursor: str | None) -> tuple[Sequence[BatchState], str | None]:
        states, _ = super().read_list({"data": data.get("data") or ()}, None)
        return states, str(int(cursor or 0) + 1) if len(states) >= _PAGE else None
