"""What DBOS keeps of runs, as JSON where it would pickle: texts of ours, and how a run has failed."""

import base64
import json
import zlib
from typing import Any, cast

from dbos import Serializer

__all__ = ["EngineTexts", "FailureError"]

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
