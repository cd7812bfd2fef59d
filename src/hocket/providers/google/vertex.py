"""Google's models behind Vertex AI: the bodies of the Gemini API at other addresses."""

from collections.abc import Mapping
from typing import ClassVar

from hocket.http.request import HTTPRequest
from hocket.messages.content import FieldsView
from hocket.providers.google.chat_model import ChatGoogleGenerativeAI
from hocket.providers.google.service import GoogleService
from hocket.remote.google_cloud_service import GoogleCloudService

__all__ = ["ChatVertexAI", "VertexService"]


class VertexService(GoogleCloudService, GoogleService):
    """Google's models behind Vertex AI. `GoogleCloudService` says who asks and where.

    Args:
        api_key: a function that returns access tokens. A text is a key of Vertex's express mode, which needs no project.
    """

    _has_express: ClassVar[bool] = True
    _renamed_fields: ClassVar[Mapping[str, str]] = {
        **GoogleService._renamed_fields,  # pyright: ignore[reportPrivateUsage]  # its own class
        **GoogleCloudService._renamed_fields,  # pyright: ignore[reportPrivateUsage]
    }

    def _path(self, place: str) -> str:
        return super()._path(f"{self._parent}/{place}")


class ChatVertexAI(VertexService, ChatGoogleGenerativeAI):
    """A chat model of Google's, behind Vertex AI.

        model = ChatVertexAI(model="gemini-3-pro", project="shop")      # the credentials: as gcloud finds them
        model = ChatVertexAI(model="gemini-3-pro", api_key="AQ...")     # express mode: a key, and no project

    `ChatGoogleGenerativeAI` tells what it takes, says and raises: a conversation of the one goes on with the other.
    Batches are `Unsupported`: Vertex has them in Cloud Storage only.
    """

    @property
    def _llm_type(self) -> str:
        return "vertexai"

    def _batch_api(self, request: HTTPRequest) -> None:
        return None

    def _write_count(self, name: str, body: FieldsView) -> FieldsView:
        return body
