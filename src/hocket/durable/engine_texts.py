"""What DBOS keeps of runs: texts of ours, and how a run has failed, as JSON where it would pickle; and how a run stands."""

import base64
import json
import zlib
from collections.abc import Mapping
from typing import Any, cast

from dbos import Serializer, WorkflowStatus

from hocket.durable.engine import EngineState, Status

__all__ = ["NAME_PREFIX", "STATUS_WORDS", "EngineTexts", "FailureError", "read_status"]

NAME_PREFIX = "hocket."
"""Before the names of runs, where DBOS asks for a function's name."""

STATUS_WORDS: Mapping[str, Status] = {
    "ENQUEUED": "queued",
    "DELAYED": "queued",
    "PENDING": "running",
    "SUCCESS": "done",
    "ERROR": "failed",
    "MAX_RECOVERY_ATTEMPTS_EXCEEDED": "failed",
    "CANCELLED": "cancelled",
}
"""How a run stands, by DBOS's words."""

_PACKED = "z"
"""Before what is compressed; no JSON begins with it."""

_PACKED_FROM = 4096  # characters from which on `zlib` pays


class FailureError(Exception):
    """How a run has failed, on its way through DBOS: the name of an error's class, and its text."""

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(kind, text)
        self.kind: str = kind
        self.text: str = text


class EngineTexts(Serializer):
    """Writes and reads what DBOS keeps."""

    def serialize(self, data: object) -> str:
        """Return data as text."""
        if isinstance(data, BaseException):
            failure = data if isinstance(data, FailureError) else FailureError(type(data).__name__, str(data))
            data = {"failure": [failure.kind, failure.text]}
        text = json.dumps(data)
        return (
            text if len(text) < _PACKED_FROM else _PACKED + base64.b64encode(zlib.compress(text.encode(), 1)).decode()
        )

    def deserialize(self, serialized_data: str) -> Any:
        """Return what a text stands for."""
        text = serialized_data
        if text.startswith(_PACKED):
            text = zlib.decompress(base64.b64decode(text[1:])).decode()
        data: object = json.loads(text)
        match data:
            case {"failure": [str(kind), str(said)]}:
                return FailureError(kind, said)
            case _:
                return cast(Any, data)

    def name(self) -> str:
        """Return what this format is called in the database."""
        return "hocket_json"


def read_status(found: WorkflowStatus) -> EngineState:
    """Return what DBOS tells of a run."""
    failure = found.error
    return EngineState(
        id=found.workflow_id,
        name=found.name.removeprefix(NAME_PREFIX),
        status=STATUS_WORDS[found.status],
        text=cast(str, [*cast("dict[str, Any]", found.input or {}).get("args", ()), ""][0]),
        output=cast("str | None", found.output),
        failure=(failure.kind, failure.text) if isinstance(failure, FailureError) else None,
        created=(found.created_at or 0) / 1000,
        updated=(found.updated_at or 0) / 1000,
        worker=found.executor_id,
    )
