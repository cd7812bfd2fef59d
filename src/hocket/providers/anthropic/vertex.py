"""Anthropic's models behind Vertex AI: the bodies of the messages API, but for the model, which stands in the path."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar
from urllib.parse import quote

from hocket.http.request import HTTPRequest
from hocket.messages import BaseMessage
from hocket.messages.content import Fields, FieldsView
from hocket.providers.anthropic.chat_model import ChatAnthropic
from hocket.providers.anthropic.decode import PROVIDER
from hocket.remote.endpoint import Endpoint
from hocket.remote.google_cloud_service import GOOGLE_CLOUD_ENDPOINT, GoogleCloudService

__all__ = ["ChatAnthropicVertex"]

VERSION = "vertex-2023-10-16"
"""The API's version at Vertex, which stands in the body."""


class ChatAnthropicVertex(GoogleCloudService, ChatAnthropic):
    """A chat model of Anthropic's, behind Vertex AI.

        model = ChatAnthropicVertex(model="claude-sonnet-5-5", project="shop")      # the credentials: as gcloud finds them

    `ChatAnthropic` tells what it takes, says and raises; `GoogleCloudService` who asks and where. Batches are
    `Unsupported`.

    Args:
        project: default: ``ANTHROPIC_VERTEX_PROJECT_ID``, ``GOOGLE_CLOUD_PROJECT``, or that of the credentials.
        location: default: ``GOOGLE_CLOUD_LOCATION``, ``CLOUD_ML_REGION``, or "global".
        anthropic_version: default: vertex-2023-10-16.
    """

    _endpoint: ClassVar[Endpoint] = replace(
        GOOGLE_CLOUD_ENDPOINT, name=PROVIDER, url_variable="ANTHROPIC_VERTEX_BASE_URL", key_header="authorization"
    )
    _publisher: ClassVar[str] = "anthropic"
    _project_variables: ClassVar[tuple[str, ...]] = ("ANTHROPIC_VERTEX_PROJECT_ID", "GOOGLE_CLOUD_PROJECT")
    _location_variables: ClassVar[tuple[str, ...]] = ("GOOGLE_CLOUD_LOCATION", "CLOUD_ML_REGION")

    @property
    def _relay_format(self) -> None:
        return None

    def _batch_api(self, request: HTTPRequest) -> None:
        return None

    def _address(self, body: Fields, headers: Fields, *, stream: bool) -> HTTPRequest:
        model = quote(body.pop("model"), safe="@:")
        del headers["anthropic-version"]
        return self._predict(f"{model}:{'streamRawPredict' if stream else 'rawPredict'}", body, headers)

    def _request_count(self, messages: Sequence[BaseMessage], tools: Sequence[FieldsView]) -> HTTPRequest:
        counted: Any = super()._request_count(messages, tools).json
        return self._predict("count-tokens:rawPredict", counted, {})

    def _predict(self, place: str, body: FieldsView, headers: Fields) -> HTTPRequest:
        root = "" if self.base_url.endswith("/v1") else "v1/"  # addresses for the official client have it
        stated = {"anthropic_version": self.anthropic_version or VERSION, **body}
        return self._post(self._url(f"{root}{self._parent}/models/{place}"), stated, headers)
