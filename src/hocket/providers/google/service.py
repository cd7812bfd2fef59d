"""Where the Gemini API is, and how its models are addressed: what the chat model and the embedding model share."""

import re
from collections.abc import Mapping
from typing import ClassVar

from hocket.remote.endpoint import Endpoint
from hocket.remote.options import FIELDS_INSTEAD
from hocket.remote.service import RemoteService

__all__ = ["PROVIDER", "VERTEX", "GoogleService", "name_model"]

PROVIDER = "google_genai"
VERTEX = "google_vertexai"  # the same API at another address

VERSIONS = {"beta": "v1beta"}
"""What the official SDK understands in its variable beside the versions themselves."""

_VERTEX = "ChatVertexAI or VertexAIEmbeddings, which ask Vertex AI: ChatVertexAI(model=..., project=..., location=...)"


class GoogleService(RemoteService):
    """The Gemini API.

    Args:
        api_version: the part of the path before ``models``: v1, v1beta; "": ``base_url`` has it already. Default: what
            GOOGLE_GENAI_API_VERSION says, else v1, as the official SDK has it.

    A key goes in the header ``x-goog-api-key``; one that begins with ``ya29.`` is an access token, and goes as a bearer
    token. `RemoteService` tells the rest.
    """

    _endpoint: ClassVar = Endpoint(
        name=PROVIDER,
        base_url="https://generativelanguage.googleapis.com",
        hosts=("aiplatform.googleapis.com",),
        url_variable="GOOGLE_GEMINI_BASE_URL",
        key_variables=("GOOGLE_API_KEY", "GEMINI_API_KEY"),
        key_header="x-goog-api-key",
        account_variables={"api_version": "GOOGLE_GENAI_API_VERSION"},
    )
    _renamed_fields: ClassVar[Mapping[str, str]] = {
        **FIELDS_INSTEAD,
        "client_options": "base_url=..., proxy=... and default_headers=...",
        "convert_system_message_to_human": "nothing: the API takes system messages",
        "credentials": _VERTEX,
        "location": _VERTEX,
        "project": _VERTEX,
        "vertexai": _VERTEX,
    }

    api_version: str | None = None

    def _make_key_headers(self, key: str) -> Mapping[str, str]:
        return {"authorization": f"Bearer {key}"} if key.startswith("ya29.") else super()._make_key_headers(key)

    def _path(self, place: str) -> str:
        """Return the path of a place of the API."""
        version = "v1" if self.api_version is None else VERSIONS.get(self.api_version, self.api_version)
        return f"{version}/{place}" if version else place


def name_model(model: str) -> str:
    """Return a model's full name: ``models/gemini-…``."""
    return model if re.match(r"\w+/", model) else f"models/{model}"
