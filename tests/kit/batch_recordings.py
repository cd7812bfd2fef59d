"""Exchanges about batches, recorded with the official SDKs: what each sent, what it was answered, and what it made of that.

A file of `tests/fixtures/batches` has the steps of one provider. A step has one exchange, or several that belong together.
"""

import json
from collections.abc import Mapping, Sequence
from email.parser import BytesParser
from email.policy import HTTP
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, urlsplit

from hocket.http.request import HTTPReply, HTTPRequest

__all__ = ["KEY", "SERVER", "Step", "describe", "describe_recorded", "load_steps", "read_form"]

SERVER = "https://server.example"
"""Where the SDKs found the server."""

KEY = "hk3f9c02ab71de"
"""The key of the batches."""


class Step(NamedTuple):
    """One step.

    Attributes:
        requests: what the SDK sent.
        replies: what it was answered.
        parsed: what it read in the last one.
    """

    requests: Sequence[dict[str, Any]]
    replies: Sequence[HTTPReply]
    parsed: Any

    @property
    def data(self) -> Any:
        """The data of the last reply."""
        return json.loads(self.replies[-1].content)

    @property
    def lines(self) -> list[Any]:
        """The lines of the last reply."""
        return [json.loads(line) for line in self.replies[-1].content.splitlines()]


def load_steps(provider: str) -> Mapping[str, Step]:
    """Return the steps of a provider, by their names."""
    path = Path(__file__).parents[1] / "fixtures" / "batches" / f"{provider}.json"
    return {name: _read_step(step) for name, step in json.loads(path.read_text())["steps"].items()}


def _read_step(step: dict[str, Any]) -> Step:
    exchanges = step["exchanges"]
    return Step(
        [exchange["request"] for exchange in exchanges],
        [_read_reply(exchange["response"]) for exchange in exchanges],
        step["sdk_parsed"],
    )


def _read_reply(response: dict[str, Any]) -> HTTPReply:
    content = response["text"] if "text" in response else json.dumps(response["body"])
    return HTTPReply(200, response.get("headers") or {}, content.encode())


def describe(request: HTTPRequest) -> dict[str, Any]:
    """Return what matters of a request, to be compared with one that was recorded."""
    form = read_form(request) if request.headers.get("content-type", "").startswith("multipart/") else None
    if form is None:
        said = {"body": request.json}
    else:
        _, name, text = form.pop("file")
        said = {"form": form, "file": (name, _read_lines(text))}
    return {"method": request.method, **_describe_url(request.url.removeprefix(SERVER)), **said}


def describe_recorded(request: dict[str, Any], *but: str) -> dict[str, Any]:
    """Return the same of a recorded request, without parameters and fields of the form that the SDK adds of its own.

    Args:
        request: as it was recorded.
        but: their names.
    """
    said = {"body": request.get("body")}
    if form := request.get("form"):
        file = form["file"]
        fields = {name: value for name, value in form.items() if name not in ("file", *but)}
        said = {"form": fields, "file": (file["filename"], _read_lines(file["content"]))}
    return {"method": request["method"], **_describe_url(request["path"], *but), **said}


def _read_lines(text: str) -> list[Any]:
    assert text.endswith("\n")
    return [json.loads(line) for line in text[:-1].split("\n")]


def _describe_url(url: str, *but: str) -> dict[str, Any]:
    parts = urlsplit(url)
    query = {name: value for name, value in parse_qsl(parts.query, keep_blank_values=True) if name not in but}
    return {"path": parts.path, "query": query}


def read_form(request: HTTPRequest) -> dict[str, Any]:
    """Return the fields of a form (``multipart/form-data``), read by Python's own parser of mails.

    Returns:
        the fields by their names; ``file`` is its type, its name and its text.
    """
    head = b"content-type: " + request.headers["content-type"].encode() + b"\r\n\r\n"
    message = BytesParser(policy=HTTP).parsebytes(head + request.content)
    form: dict[str, Any] = {}
    for part in message.iter_parts():
        assert part.get_content_disposition() == "form-data"
        text = part.get_payload(decode=True).decode()  # type: ignore[union-attr]
        name = part.get_filename()
        form[str(part.get_param("name", header="content-disposition"))] = (
            text if name is None else (part.get_content_type(), name, text)
        )
    return form
