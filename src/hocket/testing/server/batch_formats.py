"""How providers word their batch endpoints: their paths, their requests, and their replies about a `SubmittedBatch`.

They are words alone, in one place, so that what differs is seen side by side: what is the same is in `ScriptedBatches`.
"""

import re
from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import ClassVar, Literal, cast
from urllib.parse import parse_qsl

from pydantic_core import from_json, to_json

from hocket._runtime import clock
from hocket.errors import InvalidInput
from hocket.messages.content import Fields, FieldsView
from hocket.testing.server.submitted_batch import SubmittedBatch, SubmittedRow
from hocket.testing.server.wire import ReceivedRequest

__all__ = ["AnthropicBatchFormat", "BatchEndpoint", "BatchFormat", "GoogleBatchFormat", "MistralBatchFormat", "NewRow"]

BatchEndpoint = Literal["upload", "create", "get", "list", "cancel", "results"]
"""What a request is for. Results that are part of the batch's own document come with ``get``."""

NewRow = tuple[str, str, object]
"""A row that comes: its id, the path of a live request for it, and that request's body."""


class BatchFormat:
    """OpenAI's ``/files`` and ``/batches``, and those of others who speak as it does; other providers override what differs.

    What a provider would refuse is refused with `InvalidInput`, as by a `Format`.

    Attributes:
        routes: a pattern of a method and a path; the group that it finds is named after the endpoint, and is what is
            asked for.
        id: of a batch, from its number, from 1.
        custom_id: what an id of a row may be, as a pattern.
        can_fail: whether a batch may be refused whole after its creation.
        unknown: fields of the error object of a 404, over the usual ones.
    """

    routes: ClassVar[str] = (
        "POST .*((?P<upload>/files)|(?P<create>/batches)|/batches/(?P<cancel>[^/]+)/cancel)"
        "|GET .*((?P<list>/batches)|/batches/(?P<get>[^/]+)|/files/(?P<results>[^/]+)/content)"
    )
    id: ClassVar[str] = "batch_{}"
    custom_id: ClassVar[str] = ".+"
    can_fail: ClassVar[bool] = True
    unknown: ClassVar[FieldsView] = {"type": "invalid_request_error", "code": None}

    def find(self, request: ReceivedRequest) -> tuple[BatchEndpoint, str] | None:
        """Return what ``request`` is for, and the name in its path; None: it is for no batch."""
        found = re.fullmatch(self.routes, f"{request.method} {request.path}")
        named = found.groupdict() if found else {}
        return next(((cast(BatchEndpoint, kind), name) for kind, name in named.items() if name), None)

    def read_upload(self, request: ReceivedRequest, files: MutableMapping[str, bytes]) -> tuple[Fields, dict[str, str]]:
        """Put what comes among ``files``; return what is said about it, and with which headers."""
        form = _read_form(request)
        if not form["purpose"].startswith(b"batch"):
            raise InvalidInput(f"a file for a batch has the purpose 'batch', not {form['purpose']!r}")
        name, content = f"file-{len(files) + 1}", form["file"]
        files[name] = content
        said = {"id": name, "object": "file", "bytes": len(content), "created_at": int(clock.current().time())}
        more = {"status": "processed", "sample_type": "batch_request", "source": "upload"}  # the last two: Mistral
        return {**said, **more, "filename": form["filename"].decode(), "purpose": form["purpose"].decode()}, {}

    def read_rows(self, request: ReceivedRequest, files: Mapping[str, bytes]) -> Sequence[NewRow]:
        """Return the rows of a batch that ``request`` creates."""
        job: FieldsView = request.json
        lines = _read_lines(files, job["input_file_id"])
        models = {line["body"]["model"] for line in lines}
        places = {(line["method"], line["url"]) for line in lines}
        if len(models) > 1 or places != {("POST", job["endpoint"])}:
            raise InvalidInput(f"all lines ask one model and {job['endpoint']!r}, not {models} and {places}")
        live = request.path.removesuffix("/batches") + job["endpoint"].removeprefix("/v1")
        return [(line["custom_id"], live, line["body"]) for line in lines]

    def write_batch(self, batch: SubmittedBatch) -> Fields:
        """Return what is said of a batch."""
        counts, state, files = batch.counts, batch.state, self.list_results(batch)
        job = {
            name: batch.document.get(name) for name in ("endpoint", "input_file_id", "completion_window", "metadata")
        }
        error = {"code": batch.plan.code, "message": batch.plan.message, "line": None, "param": None}
        done = {"total": counts.total(), "completed": counts["succeeded"], "failed": counts["errored"]}
        return {
            "id": batch.id,
            "object": "batch",
            **job,
            "created_at": int(batch.created_at),
            "request_counts": done,
            "status": {"queued": "validating", "running": "in_progress"}.get(state, state),
            "errors": {"object": "list", "data": [error]} if state == "failed" else None,
            **{f"{kind}_file_id": _find_end(files, kind) for kind in ("output", "error")},
        }

    def write_list(self, batches: Sequence[SubmittedBatch], query: Mapping[str, str], most: int) -> Fields:
        """Return a page of ``batches``, the newest first, with ``most`` at most."""
        after = query.get("after") or query.get("after_id")
        start = 1 + [batch.id for batch in batches].index(after) if after else 0
        end = start + min(int(query.get("limit", 20)), most)
        data = [self.write_batch(batch) for batch in batches[start:end]]
        ends = {"first_id": data[0]["id"], "last_id": data[-1]["id"]} if data else {}
        return {"object": "list", "data": data, **ends, "has_more": end < len(batches)}

    def list_results(self, batch: SubmittedBatch) -> Mapping[str, Sequence[SubmittedRow]]:
        """Return the names under which a batch has results, and the rows that are there."""
        files: dict[str, list[SubmittedRow]] = {}
        for row in batch.result_rows:
            kind = "output" if row.result == "succeeded" else "error"
            files.setdefault(f"file-{batch.id}-{kind}", []).append(row)
        return files

    def write_row(self, row: SubmittedRow) -> Fields:
        """Return the line of a row in the results."""
        response = {"status_code": row.status, "request_id": f"req_{row.number}", "body": row.reply}
        error = {"code": f"batch_{row.outcome}", "message": f"The batch was {row.outcome} before this row was run."}
        came = {"response": response, "error": None} if row.status else {"response": None, "error": error}
        return {"id": f"batch_req_{row.number}", "custom_id": row.custom_id, **came}

    def write_lines(self, batch: SubmittedBatch, rows: Sequence[SubmittedRow]) -> Iterator[bytes]:
        """Yield the lines of ``rows`` in the results, as the plan of ``batch`` has them."""
        for row in rows if batch.plan.in_order else reversed(rows):
            line = to_json(self.write_row(row)) + b"\n"
            if row.outcome == "stranger":
                yield to_json(self.write_row(replace(row, custom_id=f"unknown-{row.number}"))) + b"\n"
            if row.outcome == "garbled":
                line = line[: len(line) // 2] + b"\n"
            yield from [line] * {"missing": 0, "twice": 2}.get(row.outcome or "", 1)


class AnthropicBatchFormat(BatchFormat):
    """Anthropic's ``/messages/batches``."""

    routes = (
        "POST .*/messages((?P<create>/batches)|/batches/(?P<cancel>[^/]+)/cancel)"
        "|GET .*/messages((?P<list>/batches)|/batches/(?P<get>[^/]+)|/batches/(?P<results>[^/]+)/results)"
    )
    id = "msgbatch_{}"
    custom_id = "[a-zA-Z0-9_-]{1,64}"
    can_fail = False
    unknown: ClassVar[FieldsView] = {}

    def read_rows(self, request: ReceivedRequest, files: Mapping[str, bytes]) -> Sequence[NewRow]:
        """Return the rows, which come with the request itself."""
        live = request.path.removesuffix("/batches")
        return [(one["custom_id"], live, one["params"]) for one in request.json["requests"]]

    def write_batch(self, batch: SubmittedBatch) -> Fields:
        """Return the batch; its counts are those of the end, and before it all is processed."""
        counts, has_ended = batch.counts, batch.has_ended
        place = f"http://{batch.request.headers['host']}{batch.request.path}/{batch.id}/results"
        done = {_spell(name): counts[name] * has_ended for name in ("succeeded", "errored", "cancelled", "expired")}
        created = datetime.fromtimestamp(batch.created_at, UTC)
        return {
            "id": batch.id,
            "type": "message_batch",
            "created_at": created,
            "expires_at": created + timedelta(days=1),
            "processing_status": "ended"
            if has_ended
            else "canceling"
            if batch.state == "cancelling"
            else "in_progress",
            "request_counts": {**done, "processing": counts.total() - sum(done.values())},
            "results_url": place if has_ended else None,
        }

    def list_results(self, batch: SubmittedBatch) -> Mapping[str, Sequence[SubmittedRow]]:
        """Return all rows under the batch's own name."""
        return {batch.id: batch.result_rows} if batch.has_ended else {}

    def write_row(self, row: SubmittedRow) -> Fields:
        """Return the line of a row."""
        kind = {"succeeded": "message", "errored": "error"}.get(row.result)
        result = {"type": _spell(row.result), **({kind: row.reply} if kind else {})}
        return {"custom_id": row.custom_id, "result": result}


class MistralBatchFormat(BatchFormat):
    """Mistral's ``/files`` and ``/batch/jobs``. Rows that a job has not come to are in no file."""

    routes: ClassVar[str] = BatchFormat.routes.replace("/batches", "/batch/jobs")

    def read_rows(self, request: ReceivedRequest, files: Mapping[str, bytes]) -> Sequence[NewRow]:
        """Return the rows of the files; the job has the model, and they have none."""
        job: FieldsView = request.json
        lines = [line for name in job["input_files"] for line in _read_lines(files, name)]
        if any("model" in line["body"] for line in lines):
            raise InvalidInput(f"the job names the model, {job['model']!r}, and its lines name none")
        live = request.path.removesuffix("/batch/jobs") + job["endpoint"].removeprefix("/v1")
        return [(line["custom_id"], live, {"model": job["model"], **line["body"]}) for line in lines]

    def write_batch(self, batch: SubmittedBatch) -> Fields:
        """Return the job."""
        counts, state, files = batch.counts, batch.state, self.list_results(batch)
        job = {name: batch.document.get(name) for name in ("endpoint", "input_files", "model", "metadata")}
        done = {"succeeded_requests": counts["succeeded"], "failed_requests": counts["errored"]}
        return {
            "id": batch.id,
            "object": "batch",
            **job,
            "created_at": int(batch.created_at),
            **done,
            "status": _MISTRAL_STATES.get(state, state.upper()),
            "errors": [{"message": batch.plan.message}] if state == "failed" else [],
            "total_requests": counts.total(),
            "completed_requests": sum(done.values()),
            **{f"{kind}_file": _find_end(files, kind) for kind in ("output", "error")},
        }

    def write_list(self, batches: Sequence[SubmittedBatch], query: Mapping[str, str], most: int) -> Fields:
        """Return the page with a number, from 0."""
        size = min(int(query.get("page_size", 100)), most)
        start = int(query.get("page", 0)) * size
        data = [self.write_batch(batch) for batch in batches[start : start + size]]
        return {"object": "list", "data": data, "total": len(batches)}

    def list_results(self, batch: SubmittedBatch) -> Mapping[str, Sequence[SubmittedRow]]:
        """Return the files of rows that were asked."""
        files = super().list_results(batch).items()
        return {name: asked for name, rows in files if (asked := [row for row in rows if row.status])}


class GoogleBatchFormat(BatchFormat):
    """Gemini's ``batchGenerateContent``, with rows inline or in a file, and its resumable upload."""

    routes = (
        "POST .*(/upload/[^/]+(?P<upload>/files)|(?P<create>:batchGenerateContent)|/(?P<cancel>batches/[^/]+):cancel)"
        "|GET .*((?P<list>/batches)|/(?P<get>batches/[^/]+)|/(?P<results>files/[^/]+):download)"
    )
    id = "batches/batch-{}"
    unknown: ClassVar[FieldsView] = {}

    def read_upload(self, request: ReceivedRequest, files: MutableMapping[str, bytes]) -> tuple[Fields, dict[str, str]]:
        """Begin an upload, or take a piece of it."""
        command = request.headers["x-goog-upload-command"]
        if command == "start":
            name = f"files/up{len(files) + 1}"
            files[name] = b""
            place = f"http://{request.headers['host']}{request.path}?upload_id={name}"
            return {}, {"x-goog-upload-url": place, "x-goog-upload-status": "active"}
        name = dict(parse_qsl(request.query))["upload_id"]
        files[name] += request.body
        said: Fields = {"file": {"name": name, "sizeBytes": str(len(files[name]))}}
        return said, {"x-goog-upload-status": "final" if "finalize" in command else "active"}

    def read_rows(self, request: ReceivedRequest, files: Mapping[str, bytes]) -> Sequence[NewRow]:
        """Return the rows, inline or of the file."""
        source: FieldsView = request.json["batch"]["inputConfig"]
        if "fileName" in source:
            rows = [(line["key"], line["request"]) for line in _read_lines(files, source["fileName"])]
        else:
            rows = [(one["metadata"]["key"], one["request"]) for one in source["requests"]["requests"]]
        live = request.path.replace(":batchGenerateContent", ":generateContent")
        return [(key, live, body) for key, body in rows]

    def write_batch(self, batch: SubmittedBatch) -> Fields:
        """Return the operation; what came inline is answered inline."""
        counts, plan, state = batch.counts, batch.plan, batch.state
        stats = {"successfulRequestCount": counts["succeeded"], "failedRequestCount": counts["errored"]}
        stats |= {"requestCount": counts.total(), "pendingRequestCount": counts["processing"]}
        said: Fields = {
            "name": batch.id,
            "displayName": batch.document["batch"].get("displayName"),
            "state": f"BATCH_STATE_{_GOOGLE_STATES.get(state, state.upper())}",
            "createTime": datetime.fromtimestamp(batch.created_at, UTC),
            "batchStats": {name: str(count) for name, count in stats.items() if count},
        }
        output: Fields = {}
        if batch.result_rows and "fileName" in batch.document["batch"]["inputConfig"]:
            output = {"responsesFile": next(iter(self.list_results(batch)))}
        elif batch.result_rows and batch.age < plan.archived_after:
            lines: list[Fields] = [from_json(line) for line in self.write_lines(batch, batch.result_rows)]
            inline = [{"metadata": {"key": line.pop("key")}, **line} for line in lines]
            output = {"inlinedResponses": {"inlinedResponses": inline}}
        outputs = {"metadata": {**said, "output": output}, "response": output} if output else {"metadata": said}
        error = {"error": {"code": int(plan.code or 13), "message": plan.message}} if state == "failed" else {}
        return {"name": batch.id, **outputs, **error, "done": batch.has_ended}

    def write_list(self, batches: Sequence[SubmittedBatch], query: Mapping[str, str], most: int) -> Fields:
        """Return the page with a token."""
        start, size = int(query.get("pageToken", 0)), min(int(query.get("pageSize", 50)), most)
        more: Fields = {"nextPageToken": str(start + size)} if start + size < len(batches) else {}
        return {"operations": [self.write_batch(batch) for batch in batches[start : start + size]], **more}

    def list_results(self, batch: SubmittedBatch) -> Mapping[str, Sequence[SubmittedRow]]:
        """Return all rows as one file."""
        return {batch.id.replace("batches/", "files/"): batch.result_rows} if batch.result_rows else {}

    def write_row(self, row: SubmittedRow) -> Fields:
        """Return the line of a row."""
        if row.result == "succeeded":
            return {"key": row.custom_id, "response": row.reply}
        status = row.status or (504 if row.outcome == "expired" else 499)
        message = (
            row.reply["error"]["message"] if row.reply else f"The batch was {row.outcome} before this row was run."
        )
        return {"key": row.custom_id, "error": {"code": _GOOGLE_CODES.get(status, 13), "message": message}}


_RENAMED = {"cancelling": "CANCELLATION_REQUESTED", "expired": "TIMEOUT_EXCEEDED"}
_MISTRAL_STATES = {"finalizing": "RUNNING", "completed": "SUCCESS", **_RENAMED}
_GOOGLE_STATES = {"queued": "PENDING", "finalizing": "RUNNING", "cancelling": "RUNNING", "completed": "SUCCEEDED"}
# What a row has in the place of a status, of google.rpc.Code.
_GOOGLE_CODES = {400: 3, 401: 16, 403: 7, 404: 5, 429: 8, 499: 1, 500: 13, 503: 14, 504: 4}


def _spell(word: str) -> str:
    """Return a word as Anthropic spells it."""
    return "canceled" if word == "cancelled" else word


def _find_end(names: Mapping[str, object], end: str) -> str | None:
    return next((name for name in names if name.endswith(end)), None)


def _read_lines(files: Mapping[str, bytes], name: str) -> list[Fields]:
    if name not in files:
        raise InvalidInput(f"there is no file {name!r} to make a batch of; the files that came are {[*files]}")
    return [from_json(line) for line in files[name].splitlines()]


def _read_form(request: ReceivedRequest) -> dict[str, bytes]:
    """Return the fields of a multipart form, and the name of its file as ``filename``."""
    kind, _, mark = request.headers.get("content-type", "").partition("boundary=")
    if not kind.startswith("multipart/form-data"):
        raise InvalidInput(f"a file is uploaded as multipart/form-data, not as {kind!r}")
    form: dict[str, bytes] = {}
    for part in request.body.split(b"--" + mark.strip('"').encode())[1:-1]:
        head, _, content = part.partition(b"\r\n\r\n")
        said = dict(re.findall(rb'\b(name|filename)="([^"]*)"', head))
        form[said.pop(b"name").decode()] = content.removesuffix(b"\r\n")
        if said:
            form["filename"] = said[b"filename"]
    return form
