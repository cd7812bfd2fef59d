"""What a model behind HTTP would send, without sending it."""

from abc import abstractmethod
from typing import Any

from hocket.http.request import HTTPRequest
from hocket.language_models.base import BaseLanguageModel, LanguageModelInput
from hocket.remote.service import RemoteService

__all__ = ["RequestPreview"]


class RequestPreview(RemoteService):
    """Adds `render` and `arender` to a model."""

    @abstractmethod
    def _rendered(self, input: Any, stop: list[str] | None, params: dict[str, Any], *, stream: bool) -> HTTPRequest:
        """Return the request for one input, but for its key."""

    def render(
        self, input: LanguageModelInput, *, stop: list[str] | None = None, stream: bool = False, **kwargs: Any
    ) -> HTTPRequest:
        """Return the request that `invoke`, or with ``stream=True`` `stream`, would send, every secret masked.

        Nothing is sent, and a function given as ``api_key`` is not asked.

        Raises:
            InvalidInput: see `ainvoke`.
        """
        BaseLanguageModel._check_stop(stop)
        return self._shown(self._rendered(input, stop, kwargs, stream=stream))

    async def arender(
        self, input: LanguageModelInput, *, stop: list[str] | None = None, stream: bool = False, **kwargs: Any
    ) -> HTTPRequest:
        """Return the request that `ainvoke`, or with ``stream=True`` `astream`, would send. See `render`."""
        return self.render(input, stop=stop, stream=stream, **kwargs)
