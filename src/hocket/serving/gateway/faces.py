"""The faces of the gateway, by their paths."""

from collections.abc import Mapping

from hocket.serving.gateway.chat_reply import CHAT
from hocket.serving.gateway.face import Face

__all__ = ["FACES"]

FACES: Mapping[str, Face] = {"/v1/chat/completions": CHAT}
"""What is served at ``/v1``, by path."""
