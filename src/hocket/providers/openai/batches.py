"""OpenAI's ``/batches``, for chat completions and responses, and those of others who speak the same."""

from collections.abc import Sequence
from typing import ClassVar

from hocket.http.request import HTTPRequest
from hocket.messages.content import FieldsView
from hocket.providers.openai.dialects import Dialect
from hocket.remote.batch_api import BatchState, FileBatchAPI, number_at, object_at, read_time

__all__ = ["OpenAIBatches"]

_ENDED = ("completed", "expired", "cancelled")


class OpenAIBatches(FileBatchAPI):
    """The batches of a server that speaks OpenAI's formats.

    Args:
        like: as for `BatchAPI`.
        dialect: of the server.
    """

    full_words: ClassVar[frozenset[str]] = frozenset({"token_limit_exceeded", "rate_limit_exceeded"})

    def __init__(self, like: HTTPRequest, dialect: Dialect) -> None:
        super().__init__(like)
        name = "responses" if self._root.endswith("/responses") else "chat/completions"
        root, deployment = self._root.removesuffix(f"/{name}"), ""
        if dialect.deployments:  # Azure's older URLs: batches are not below the model
            root, deployment, _ = root.partition("/deployments/")
        self._root, self._endpoint = root, f"/{name}" if deployment else f"/v1/{name}"
        self._files, self._form = dialect.batch_upload, dialect.batch_form
        self.shows_keys: bool = dialect.repeats_metadata

    def encode_line(self, custom_id: str, content: bytes) -> bytes:
        head = f'{{"custom_id":"{custom_id}","method":"POST","url":"{self._endpoint}","body":'
        return b"%b%b}\n" % (head.encode(), content)

    def create(self, key: str, lines: Sequence[bytes], file: str | None) -> HTTPRequest:
        job = {"input_file_id": file, "endpoint": self._endpoint, "completion_window": "24h"}
        return self._post(self._batches, {**job, **({"metadata": {"hocket": key}} if self.shows_keys else {})})

    def read_state(self, data: FieldsView) -> BatchState:
        job = object_at(data, "job") or data  # Together's reply to a creation
        status = str(job["status"]).lower()  # Azure and Together write capitals
        counts = object_at(job, "request_counts")
        errors: Sequence[FieldsView] = object_at(job, "errors").get("data") or ()
        return BatchState(
            id=str(job["id"]),
            key=object_at(job, "metadata").get("hocket"),
            state="ended" if status in _ENDED else "failed" if status == "failed" else "running",
            created_at=read_time(job.get("created_at")),
            total=number_at(counts, "total"),
            done=number_at(counts, "completed") + number_at(counts, "failed"),
            word=str(errors[0].get("code") or status) if errors else status,
            message="; ".join(str(error.get("message")) for error in errors[:3]) or str(job.get("error") or ""),
            results=tuple(file for end in ("output", "error") if (file := job.get(f"{end}_file_id"))),
        )

    def list(self, cursor: str | None) -> HTTPRequest:
        return self._get_list(limit=100, after=cursor)
