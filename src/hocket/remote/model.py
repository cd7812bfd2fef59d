"""What chat models and text models behind HTTP share: limits, the options of a call, identity, a preview."""

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar, cast

from pydantic import BaseModel, SecretStr

from hocket._secrets import redact, redact_url, unwrap_secret, wrap_secrets
from hocket.errors import InvalidInput
from hocket.http.request import HTTPRequest
from hocket.http.secrets import redact_headers, redact_params
from hocket.language_models.base import BaseLanguageModel, LanguageModelInput
from hocket.language_models.call_parts import LangSmithParams, check_stop
from hocket.language_models.option_policy import VOCABULARY
from hocket.language_models.options import collect_options
from hocket.messages.content import FieldsView
from hocket.profiles import ModelProfile, find_profile
from hocket.remote.endpoint import Headers
from hocket.remote.options import CallFields, make_call_options, merge_fields
from hocket.remote.retrying_service import RetryingService

__all__ = ["RemoteModel"]


class RemoteModel(RetryingService):
    """A model behind HTTP.

    A provider names the class of its options in ``_options``, and inherits the model from it, so that each option may be
    given when a model is made, bound, or with a call. Names that are no options are refused.

    Args:
        timeout: by default 10 s for a connection, 300 s for the first chunk of a stream, 120 s between two chunks, and
            20 minutes for all of a call.
        retry: by default three attempts in all.
    """

    _options: ClassVar[type[BaseModel]] = BaseModel
    """What options there are: a `ChatOptions` or `TextOptions`, or a pydantic class with some of their fields.

    What other models take and this class has no field for is refused, or left out (``unsupported``). Without a field
    ``stop``, agents that speak in text send no stop words.
    """

    _refuses: ClassVar[frozenset[str]] = frozenset()
    """Options that the API has no word for, although there is a field for them."""

    _all_refused: ClassVar[frozenset[str]] = frozenset()
    """Those, and what other models take and this class has no field for."""

    _merged_fields: ClassVar[frozenset[str]] = frozenset()
    """Fields of a body that are objects, to which those of ``extra_body`` are added key by key; any other is replaced."""

    _call_options: ClassVar[type[CallFields]] = CallFields
    """The options of a call: those, and `CallFields`."""

    _call_verbs: ClassVar[frozenset[str]] = BaseLanguageModel._call_verbs | {"render", "arender"}  # pyright: ignore[reportPrivateUsage]  # the base's

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        super().__pydantic_init_subclass__(**kwargs)
        if cls._options is not BaseModel:
            cls._call_options = make_call_options(cls._options)
        cls._all_refused = cls._refuses | (VOCABULARY - cls._options.model_fields.keys())

    # -- what tells one model from another

    @classmethod
    def is_lc_serializable(cls) -> bool:
        """A model of hocket's travels as data, its key as a reference to a variable. A provider of yours says so itself."""
        return cls.__module__.partition(".")[0] == "hocket"

    @property
    def lc_secrets(self) -> dict[str, str]:
        """The key is dumped as a reference to the variable that it is read from by default."""
        return {"api_key": next(iter(self._choose_endpoint(self.__dict__).key_variables), "API_KEY")}

    @property
    def model_name(self) -> str:
        """The model: LangChain's other name for ``model``, understood at construction as well."""
        return str(self._served_model)

    @property
    def _identifying_params(self) -> Mapping[str, Any]:
        return {"model_name": self._served_model, **collect_options(self, self._options)}

    @property
    def _refused_options(self) -> frozenset[str]:
        return self._all_refused

    def _get_ls_params(self, stop: list[str] | None = None, **kwargs: Any) -> LangSmithParams:
        return {**super()._get_ls_params(stop, **kwargs), "ls_provider": self._provider}  # type: ignore[misc]  # a model's

    def _get_invocation_params(self, stop: list[str] | None = None, **kwargs: Any) -> Any:
        return super()._get_invocation_params(stop, **redact_params(kwargs))  # type: ignore[misc]  # a model's

    def _resolve_model_profile(self) -> ModelProfile | None:
        profile = find_profile(str(self._served_model), self._provider)
        if profile is not None and not self._can_defer_tools:  # the model could, by another API
            profile["tool_search"] = False
        return profile

    @property
    def _can_defer_tools(self) -> bool:
        """Whether the API has a word for tools that are found before they are part of the prompt."""
        return False

    # -- the request

    def _add_extras(self, request: HTTPRequest, options: CallFields) -> HTTPRequest:
        """Return a provider's request with what the call adds to it: ``extra_body`` and ``extra_headers``.

        Raises:
            InvalidInput: there are further fields, and JSON has no word for them, or the body is no JSON object.
        """
        if further := getattr(options, "extra_body", None):
            try:
                body = request.json
            except ValueError:
                body = None
            if not isinstance(body, dict):
                raise InvalidInput(f"{self._provider} takes no extra_body: the body of its requests is no JSON object")
            merged = merge_fields(cast(FieldsView, body), further, self._merged_fields)
            request = replace(request, content=self._post(request.url, merged).content)
        return _add_headers(request, options.extra_headers) if options.extra_headers else request

    @abstractmethod
    def _preview(self, input: Any, stop: list[str] | None, params: dict[str, Any], *, stream: bool) -> HTTPRequest:
        """Return the request for one input, but for its key."""

    def render(
        self, input: LanguageModelInput, *, stop: list[str] | None = None, stream: bool = False, **kwargs: Any
    ) -> HTTPRequest:
        """Return the request that `invoke`, or with ``stream=True`` `stream`, would send, every secret masked.

        Nothing is sent, and a function given as ``api_key`` is not asked.

        Raises:
            InvalidInput: see `ainvoke`.
        """
        check_stop(stop)
        request = self._preview(input, stop, kwargs, stream=stream)
        shown = {**self._mask_authentication(self._sender.complete(request)), **(self.default_headers or {})}
        key = self.api_key
        known = [key.get_secret_value()] if isinstance(key, SecretStr) else []
        return HTTPRequest(
            request.method,
            redact(redact_url(request.url), known),
            redact(redact_headers({**shown, **request.headers}), known),
            request.content,
        )

    async def arender(
        self, input: LanguageModelInput, *, stop: list[str] | None = None, stream: bool = False, **kwargs: Any
    ) -> HTTPRequest:
        """Return the request that `ainvoke`, or with ``stream=True`` `astream`, would send. See `render`."""
        return self.render(input, stop=stop, stream=stream, **kwargs)


def _add_headers(request: HTTPRequest, headers: Headers) -> HTTPRequest:
    """Return a request with further headers, over its own."""
    plain = {name.lower(): unwrap_secret(value) for name, value in wrap_secrets(headers).items()}
    return replace(request, headers={**request.headers, **plain})
