"""The official SDKs create, list, poll, cancel and read batches of the scripted server: it speaks as their providers do.

OpenAI's is always here; the others are in `scripts/interop`'s environment.
"""

import io
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from hocket.testing import (
    AnthropicFormat,
    BatchPlan,
    GoogleFormat,
    MistralFormat,
    OpenAIFormat,
    OpenAIResponsesFormat,
    ReceivedRequest,
    Reply,
    Server,
    Status,
    serve,
)
from hocket.testing.server import Format, SubmittedBatch

IDS = ["r-0", "r-1", "r-2"]


def find_sdk(name: str) -> Any:
    """Return an SDK, or skip the test; in `scripts/interop` none is skipped."""
    if os.environ.get("HOCKET_INTEROP") == "all":
        __import__(name)
    return pytest.importorskip(name, reason="scripts/interop installs it")


def answer(request: ReceivedRequest) -> Reply | Status:
    return Status(400, "not this one") if b"question 1" in request.body else Reply("Good morning")


def plan(batch: SubmittedBatch) -> BatchPlan:
    """The first one has a row of each kind; the second takes an hour; the third fails."""
    first = BatchPlan(end="expired", rows=lambda row: "expired" if row.number == 2 else None)
    return [first, BatchPlan(seconds=3600, cancelling=3600), BatchPlan(end="failed", code="8")][batch.number]


@contextmanager
def serving(format: Format) -> Iterator[Server]:
    with serve(format, answer) as server:
        server.batches.plan = plan
        yield server
        assert not server.problems
        assert server.batches.submitted[0].counts == {"succeeded": 1, "errored": 1, "expired": 1}


def chat(number: int) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": f"question {number}"}]}


@pytest.mark.parametrize("endpoint", ["/v1/chat/completions", "/v1/responses"])
def test_openai(endpoint: Any) -> None:
    from openai import OpenAI

    is_chat = "chat" in endpoint
    with (
        serving(OpenAIFormat() if is_chat else OpenAIResponsesFormat()) as server,
        OpenAI(base_url=server.url, api_key="k") as client,
    ):
        bodies = [{"model": "m", **(chat(n) if is_chat else {"input": f"question {n}"})} for n in range(3)]
        lines = [
            {"custom_id": id, "method": "POST", "url": endpoint, "body": body}
            for id, body in zip(IDS, bodies, strict=True)
        ]
        content = "\n".join(map(json.dumps, lines)).encode()
        file = client.files.create(file=("rows.jsonl", content), purpose="batch")
        assert (file.bytes, file.filename, file.purpose) == (len(content), "rows.jsonl", "batch")
        made = [
            client.batches.create(
                input_file_id=file.id, endpoint=endpoint, completion_window="24h", metadata={"hocket": f"key{number}"}
            )
            for number in range(3)
        ]
        assert [batch.status for batch in made] == ["validating"] * 3

        ended, running, failed = (client.batches.retrieve(batch.id) for batch in made)
        assert (ended.status, running.status, failed.status) == ("expired", "in_progress", "failed")
        assert ended.request_counts and ended.request_counts.to_dict() == {"total": 3, "completed": 1, "failed": 1}
        assert failed.errors and failed.errors.data and failed.errors.data[0].code == "8"
        assert client.batches.cancel(running.id).status == "cancelling"
        server.batches.page_size = 2
        assert [one.metadata for one in client.batches.list()] == [{"hocket": f"key{n}"} for n in (2, 1, 0)]

        assert ended.output_file_id and ended.error_file_id
        [answered] = map(json.loads, client.files.content(ended.output_file_id).text.splitlines())
        assert answered["custom_id"] == "r-0" and "Good morning" in json.dumps(answered["response"]["body"])
        refused, expired = map(json.loads, client.files.content(ended.error_file_id).text.splitlines())
        assert (refused["custom_id"], refused["response"]["status_code"]) == ("r-1", 400)
        assert (expired["custom_id"], expired["response"], expired["error"]["code"]) == ("r-2", None, "batch_expired")


def test_anthropic() -> None:
    find_sdk("anthropic")
    from anthropic import Anthropic

    def plan_two(batch: SubmittedBatch) -> BatchPlan:
        return plan(batch) if batch.number < 2 else BatchPlan(seconds=3600)

    with serving(AnthropicFormat()) as server, Anthropic(base_url=server.url, api_key="k") as client:
        server.batches.plan = plan_two
        requests: Any = [
            {"custom_id": id, "params": {"model": "m", "max_tokens": 9, **chat(number)}}
            for number, id in enumerate(IDS)
        ]
        made = [client.messages.batches.create(requests=requests) for _ in range(3)]
        assert [batch.processing_status for batch in made] == ["in_progress"] * 3
        ended, running, _ = (client.messages.batches.retrieve(batch.id) for batch in made)
        assert (ended.processing_status, running.processing_status) == ("ended", "in_progress")
        counts = {"processing": 0, "succeeded": 1, "errored": 1, "canceled": 0, "expired": 1}
        assert ended.request_counts.to_dict() == counts
        assert running.request_counts.processing == 3
        assert client.messages.batches.cancel(running.id).processing_status == "canceling"
        server.batches.page_size = 2
        assert [one.id for one in client.messages.batches.list()] == [batch.id for batch in reversed(made)]

        results = {one.custom_id: one.result for one in client.messages.batches.results(ended.id)}
        answered, refused, expired = (results[id] for id in IDS)
        assert answered.type == "succeeded" and answered.message.content[0].to_dict()["text"] == "Good morning"
        assert answered.message.usage.input_tokens == 2
        assert refused.type == "errored" and refused.error.error.message == "not this one"
        assert refused.error.error.type == "invalid_request_error"
        assert expired.type == "expired"


@pytest.mark.parametrize("is_inline", [True, False], ids=["inline", "file"])
def test_google(is_inline: bool) -> None:
    find_sdk("google.genai")
    from google.genai import Client

    with serving(GoogleFormat()) as server, Client(api_key="k", http_options={"base_url": server.url}) as client:
        contents = [{"role": "user", "parts": [{"text": f"question {number}"}]} for number in range(3)]
        source: Any = [{"contents": [one], "metadata": {"key": id}} for one, id in zip(contents, IDS, strict=True)]
        if not is_inline:
            lines = [{"key": id, "request": {"contents": [one]}} for one, id in zip(contents, IDS, strict=True)]
            content = io.BytesIO("\n".join(map(json.dumps, lines)).encode())
            file = client.files.upload(file=content, config={"mime_type": "application/jsonl", "display_name": "key"})
            assert file.size_bytes == len(content.getvalue())
            source = file.name
        made = [client.batches.create(model="m", src=source, config={"display_name": f"key{n}"}) for n in range(3)]
        assert [job.state.name for job in made if job.state] == ["JOB_STATE_PENDING"] * 3

        ended, running, failed = (client.batches.get(name=job.name or "") for job in made)
        states = [job.state.name for job in (ended, running, failed) if job.state]
        assert states == ["JOB_STATE_EXPIRED", "JOB_STATE_RUNNING", "JOB_STATE_FAILED"]
        client.batches.cancel(name=running.name or "")
        assert server.batches.submitted[1].state == "cancelling"
        listed = client.batches.list(config={"page_size": 2})
        assert [job.display_name for job in listed] == ["key2", "key1", "key0"]

        assert ended.dest
        if is_inline:
            answered, refused, expired = ended.dest.inlined_responses or []
            assert [one.metadata for one in (answered, refused, expired)] == [{"key": id} for id in IDS]
            assert answered.response and answered.response.text == "Good morning"
            assert [one.error.code for one in (refused, expired) if one.error] == [3, 4]
        else:
            content = client.files.download(file=ended.dest.file_name or "")
            answered, refused, expired = map(json.loads, content.splitlines())
            assert [one["key"] for one in (answered, refused, expired)] == IDS
            assert answered["response"]["candidates"][0]["content"]["parts"] == [{"text": "Good morning"}]
            assert [one["error"]["code"] for one in (refused, expired)] == [3, 4]


def test_mistral() -> None:
    find_sdk("mistralai")
    from mistralai.client import Mistral

    with serving(MistralFormat()) as server, Mistral(api_key="k", server_url=server.origin) as client:
        content = "\n".join(
            json.dumps({"custom_id": id, "body": chat(number)}) for number, id in enumerate(IDS)
        ).encode()
        file = client.files.upload(file={"file_name": "rows.jsonl", "content": content}, purpose="batch")
        assert (file.size_bytes, file.filename) == (len(content), "rows.jsonl")
        made = [
            client.batch.jobs.create(
                input_files=[file.id], endpoint="/v1/chat/completions", model="m", metadata={"hocket": f"key{number}"}
            )
            for number in range(3)
        ]
        assert [job.status for job in made] == ["QUEUED"] * 3
        ended, running, failed = (client.batch.jobs.get(job_id=job.id) for job in made)
        assert (ended.status, running.status, failed.status) == ("TIMEOUT_EXCEEDED", "RUNNING", "FAILED")
        assert (ended.total_requests, ended.succeeded_requests, ended.failed_requests) == (3, 1, 1)
        assert len(failed.errors) == 1
        assert client.batch.jobs.cancel(job_id=running.id).status == "CANCELLATION_REQUESTED"
        pages = [client.batch.jobs.list(page=page, page_size=2) for page in range(2)]
        assert [page.total for page in pages] == [3, 3]
        keys = [job.metadata for page in pages for job in page.data or []]
        assert keys == [{"hocket": f"key{n}"} for n in (2, 1, 0)]

        def read(name: Any) -> list[Any]:
            return [json.loads(line) for line in client.files.download(file_id=name).read().splitlines()]

        [answered], [refused] = read(ended.output_file), read(ended.error_file)
        assert (answered["custom_id"], answered["response"]["status_code"]) == ("r-0", 200)
        assert answered["response"]["body"]["choices"][0]["message"]["content"] == "Good morning"
        assert (refused["custom_id"], refused["response"]["status_code"]) == ("r-1", 400)
