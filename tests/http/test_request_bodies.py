"""The body of a request as JSON: what cannot be written is one error, whatever is wrong with it."""

from typing import Any

import pytest
from pydantic_core import PydanticSerializationError

from hocket.http.request import json_bytes


def test_data_that_hold_themselves_are_refused_as_such() -> None:
    """With half of a surrogate pair beside it, too, which alone is mended."""
    loop: dict[str, Any] = {"text": "\ud800"}
    assert json_bytes(loop) == '{"text":"\ufffd"}'.encode()
    loop["itself"] = loop
    with pytest.raises(PydanticSerializationError):
        json_bytes(loop)
