"""What every object that talks to a provider's server has: an address, a key, a client, and a way to send.

A mix-in for pydantic classes: chat models, text models and embeddings. It holds configuration only, in flat fields; what
the provider's API is, is data (`Endpoint`), and another object sends (`Sender`). Connections are the event loop's (see
`hocket.http.clients`), shared by all services whose settings are equal. So a service may be made again for every request,
copied, pickled, and used from several loops. What it lists are names, each with what is known of the model beside it.
"""

import functools
import inspect
import os
import traceback
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar, cast
from urllib.parse import urlencode

from pydantic import (
    ConfigDict,
    Field,
    SecretStr,
    ValidationError,
    field_serializer,
    field_validator,
    model_validator,
)

from hocket._runtime.closing import AsyncClosing
from hocket._secrets import MASK, Secret, redact_url, unwrap_secret, wrap_secrets
from hocket.errors import AuthenticationError, DroppedStateWarning, InvalidInput, LLMError, ResourceNotFound
from hocket.http.address import split_user
from hocket.http.clients import ClientSettings, close_client
from hocket.http.failures import classify_error
from hocket.http.interception import is_key_needed
from hocket.http.request import HTTPReply, HTTPRequest, json_request
from hocket.load import Serializable
from hocket.load.field_errors import explain_fields
from hocket.load.late_build import LateModel
from hocket.remote.endpoint import Endpoint, Headers, Key, ask_key, resolve_fields
from hocket.remote.model_name import ModelName
from hocket.remote.options import FIELDS_INSTEAD, rename_fields
from hocket.remote.reply import read_reply
from hocket.remote.sender import Sender

__all__ = ["RemoteService", "explain_setup"]

T = TypeVar("T")


class RemoteService(AsyncClosing, LateModel):
    """A server's address and how to talk to it.

    No secret of it is in its `repr`, in what is dumped of it, or in an error of its requests. A pickle has them all, for
    it is to work in another process: keep it as you keep the key.

    Args:
        base_url: where the server's API begins; paths are appended to it. Default: what the environment or the provider
            says. A user and password in it become a header, ``authorization``, over that of the key.
        api_key: a text, or a sync or async function without arguments that returns one, asked for each attempt. Default:
            what the environment says, if the address is the provider's own or the environment's as well: an unknown host
            gets no key that was not given for it.
        default_headers: for each request, over the provider's own. Those that hold a secret, by their name, are kept as
            one, as is what is given as a `SecretStr`.
        default_query: parameters of the URL for each request, kept as ``default_headers`` are.
        http_client: an `httpx.AsyncClient` (or httpx2's) to send with, which stays the caller's to close. It belongs to
            the loop it is used on first, so sync verbs, which run on a loop of hocket's, cannot share it with async ones.
        max_connections: open at once, per event loop, over all services with equal settings; further requests queue.
        proxy: URL of an HTTP proxy; default: what the environment says (``HTTPS_PROXY``, ``NO_PROXY`` …).
        verify: False: certificates are not checked; a text: the path of a bundle of authorities to trust.
        max_reply_bytes: a reply that is longer is an `InvalidReply`; None: no limit.

    Raises:
        AuthenticationError: the server needs a key and there is none; the message names the variable.
        InvalidInput: there is no address.
    """

    model_config: ClassVar[ConfigDict] = ConfigDict(hide_input_in_errors=True)

    base_url: str = ""
    api_key: Key | None = Field(default=None, repr=False)
    default_headers: Headers | None = Field(default=None, repr=False)
    default_query: Headers | None = Field(default=None, repr=False)
    http_client: Any = Field(default=None, exclude=True, repr=False)
    max_connections: int = Field(default=1000, ge=1)
    proxy: SecretStr | str | None = Field(default=None, repr=False)
    verify: bool | str = True
    max_reply_bytes: int | None = Field(default=64 * 2**20, ge=1)

    _unkeyed: ClassVar[frozenset[str]] = frozenset(
        {"api_key", "http_client", "max_connections", "proxy", "verify", "max_reply_bytes"}
    )
    """Fields that do not change an answer, and so are in no cache key."""

    _local_fields: ClassVar[frozenset[str]] = frozenset({"proxy", "verify"})
    """Fields that say whom to trust on the way to the server: no dump has them, and none may bring them."""

    _renamed_fields: ClassVar[Mapping[str, str]] = FIELDS_INSTEAD

    _endpoint: ClassVar[Endpoint] = Endpoint(name="", needs_key=False)
    """The provider's API. A class that speaks to several chooses among them in `_choose_endpoint`."""

    if not TYPE_CHECKING:

        def __init__(self, **values: Any) -> None:
            """Make one of the values of its fields; what is left out may come from the environment."""
            try:  # not in a validator, out of which an `InvalidInput` comes as another error
                fields, missing_key = self._resolve(values)
                super().__init__(**fields)
                if missing_key is None:
                    return
                failure: Exception = missing_key
            except Exception as error:
                traceback.clear_frames(error.__traceback__)
                if isinstance(error, ValidationError) and not isinstance(self, Serializable):
                    failure = explain_fields(error, type(self), self._renamed_fields)
                else:
                    failure = error
                del self  # half made, it cannot be shown
            fields = values = {}  # many a logger shows the locals of frames
            raise failure  # outside the handler: pydantic's own is to be no context of it

    @classmethod
    def _resolve(cls, values: dict[str, Any]) -> tuple[dict[str, Any], AuthenticationError | None]:
        """Return the fields under hocket's names, with those from the environment, and what a missing key is to raise."""
        fields = {"base_url": cls.model_fields["base_url"].default, **rename_fields(values, cls.model_fields)}
        return resolve_fields(fields, os.environ, cls._choose_endpoint)

    @classmethod
    def _choose_endpoint(cls, fields: Mapping[str, Any]) -> Endpoint:
        """Return the endpoint of a service with these fields, of which each may be missing."""
        return cls._endpoint

    @classmethod
    def setup_needed(cls) -> str | None:
        """Return what has to be done before a model can be called, in a line; None: nothing. Asks the environment only."""
        return explain_setup(cls, {})

    @classmethod
    def key_variables(cls) -> tuple[str, ...]:
        """Return the names of the environment variables that may hold the key, the one to use first."""
        return cls._choose_endpoint({}).key_variables

    @model_validator(mode="before")
    @classmethod
    def _hide_user(cls, values: object) -> object:
        """Take user and password out of the URL, which is shown, into a header, which is not."""
        if not isinstance(values, dict):
            return values
        fields = cast("dict[str, object]", values)
        url = fields.get("base_url")
        headers: object = fields.get("default_headers") or {}
        bare, authorization = split_user(url) if isinstance(url, str) and "@" in url else ("", None)
        if authorization is None or not isinstance(headers, Mapping):
            return fields
        with_user: dict[object, object] = {"authorization": SecretStr(authorization), **headers}
        return {**fields, "base_url": bare, "default_headers": with_user}

    @field_validator("base_url")
    @classmethod
    def _check_url(cls, url: str) -> str:
        if url and not url.startswith(("http://", "https://")):
            raise ValueError(f"base_url is {redact_url(url)!r}; it must begin with http:// or https://")
        if "?" in url or "#" in url:
            raise ValueError("base_url has a query or a fragment, behind which no path can be put")
        return url.rstrip("/")

    @field_validator("api_key", "proxy")
    @classmethod
    def _hide_text(cls, value: object) -> object:
        return SecretStr(value) if isinstance(value, str) else value

    @field_serializer("api_key", when_used="json-unless-none")
    def _mask_key(self, key: object) -> str:
        return MASK  # a function has no JSON

    @field_validator("default_headers")
    @classmethod
    def _hide_headers(cls, headers: Headers | None) -> Headers | None:
        return None if headers is None else wrap_secrets({name.lower(): value for name, value in headers.items()})

    @field_validator("default_query")
    @classmethod
    def _hide_query(cls, query: Headers | None) -> Headers | None:
        return None if query is None else wrap_secrets(query)

    @field_validator("http_client")
    @classmethod
    def _check_client(cls, client: object) -> object:
        if client is not None and not inspect.iscoroutinefunction(getattr(client, "send", None)):
            raise ValueError(f"http_client is a {type(client).__name__}; it must be an httpx.AsyncClient")
        return client

    # -- opening and closing

    async def aclose(self) -> None:
        """Close the running loop's connections of these settings, once no request uses them. Later calls open new ones."""
        if self.http_client is None:
            await close_client(self._client_settings())

    # -- what a provider may say

    @property
    def _provider(self) -> str:
        """The provider's name, for errors and ``model_provider``."""
        return self._choose_endpoint(self.__dict__).name or type(self).__name__

    @property
    def _served_model(self) -> str | None:
        """The name of the model that is asked, for errors."""
        return cast("str | None", self.__dict__.get("model"))

    async def _locate(self, request: HTTPRequest) -> HTTPRequest:
        """Return a request with the URL that it goes to: for a part of it that only credentials know, at the first call."""
        return request

    async def _authenticate(self, request: HTTPRequest) -> Mapping[str, str]:
        """Return the headers that authenticate a request, secrets as `Secret`; by default those that `_sign` makes.

        A provider that takes no key overrides it, and `_mask_authentication`. Asked again for each attempt; not at all while
        a recording answers, so that no test needs the service that gives keys.

        Args:
            request: as it will be sent, but for these headers: its body and URL are final.
        """
        fields = self.__dict__
        key = await ask_key(fields["api_key"], self._provider, fields.get("model"))
        return {name: Secret(text) for name, text in self._sign(request, key).items()} if key else {}

    def _mask_authentication(self, request: HTTPRequest) -> Mapping[str, str]:
        """Return these headers as `render` shows them, with a mask for each secret. No function is asked."""
        key = self.api_key
        if not key:
            return {}
        known = key.get_secret_value() if isinstance(key, SecretStr) else MASK  # which header it is may depend on it
        signed = self._sign(request, known)
        return {name: text.replace(known, MASK) if known in text else MASK for name, text in signed.items()}

    def _sign(self, request: HTTPRequest, key: str) -> Mapping[str, str]:
        """Return the headers that authenticate a request, by default those that carry the key.

        Args:
            request: as for `_authenticate`.
            key: from the caller, a function of the caller's, or the environment. In `render` it is a mask where
                a function would give it.
        """
        return self._make_key_headers(key)

    def _make_key_headers(self, key: str) -> Mapping[str, str]:
        """Return the headers that carry a key."""
        header = self._choose_endpoint(self.__dict__).key_header
        return {header: f"Bearer {key}" if header == "authorization" else key}

    def _read_failure(self, reply: HTTPReply, secrets: Sequence[str]) -> LLMError:
        """Return the error that a reply stands for whose status is not one of success (200 to 299).

        `classify_error` knows the bodies of all providers that hocket knows. A provider whose server says more, or other
        things, reads its own, and leaves the rest to this.

        Args:
            reply: with its status, its headers in lower case, and its body as it came.
            secrets: texts that the error must not repeat; `classify_error` takes them out.
        """
        return classify_error(reply.status, reply.headers, reply.content, provider=self._provider, secrets=secrets)

    # -- asking

    @property
    def _sender(self) -> Sender:
        """What sends this service's requests, as its fields are now."""
        fields = self.__dict__
        endpoint = self._choose_endpoint(fields)
        return Sender(
            provider=endpoint.name or type(self).__name__,
            key_header=endpoint.key_header,
            start_command=endpoint.start_command,
            model=fields.get("model"),
            headers=fields["default_headers"],
            client=fields["http_client"],
            settings=self._client_settings(),
            max_bytes=fields["max_reply_bytes"],
            read_failure=self._read_failure,
            authenticate=self._authenticate
            if is_key_needed()
            else functools.partial(RemoteService._authenticate, self),
            locate=self._locate,
        )

    def _url(self, path: str) -> str:
        """Return the URL of a path of the API, which may have parameters of its own."""
        query = self.default_query
        parameters = urlencode({key: unwrap_secret(value) for key, value in query.items()}) if query else ""
        joint = "&" if "?" in path else "?"
        return f"{self.base_url}/{path}" + (f"{joint}{parameters}" if parameters else "")

    @staticmethod
    def _post(url: str, body: Mapping[str, object], headers: Headers | None = None) -> HTTPRequest:
        """Return a POST of ``body`` as JSON, but for its key.

        Raises:
            InvalidInput: the body holds something that JSON has no word for.
        """
        try:
            return json_request(url, body, headers)
        except ValueError as error:
            raise InvalidInput(f"the request cannot be written as JSON: {error}") from error

    async def _fetch(self, request: HTTPRequest, read: Callable[[Any], T], expected: str) -> T:
        """Send a request and return what ``read`` makes of the data of its reply.

        Args:
            request: but for its key.
            read: given the data, read from JSON.
            expected: what the reply should be, for an error.

        Raises:
            LLMError: the server failed or refused, could not be reached, or sent something else.
        """
        provider = self._provider
        return await self._sender.send(request, lambda reply: read_reply(reply, provider, read, expected))

    async def _fetch_names(
        self, path: str, place: str, name: str, describe: Callable[[Mapping[str, Any]], str] | None = None
    ) -> list[str]:
        """Return names out of a list that the API gives.

        Args:
            path: of the API.
            place: the field of the reply that holds the list.
            name: the field of each item that holds its name.
            describe: returns what is said of an item beside its name, the ``note`` of a `ModelName`; None: nothing is.

        Raises:
            ResourceNotFound: the server has no such list.
            LLMError: see `_fetch`.
        """
        return await self._fetch_names_at(self._url(path), place, name, describe)

    async def _fetch_names_at(
        self, url: str, place: str, name: str, describe: Callable[[Mapping[str, Any]], str] | None = None
    ) -> list[str]:
        """Return names out of the list at a URL: `_fetch_names`."""

        def read(data: Mapping[str, Any]) -> list[str]:
            items: list[dict[str, object]] = data[place]
            return [
                ModelName(str(item[name]), describe(item)) if describe is not None else str(item[name])
                for item in items
            ]

        try:
            return await self._fetch(HTTPRequest("GET", url, {"accept": "application/json"}), read, "list of models")
        except LLMError as error:
            if error.status not in (404, 405):
                raise
            raise ResourceNotFound(
                f"the server has no list of its models at {redact_url(url)}; if the address is right, give model=...",
                provider=error.provider,
                status=error.status,
                request_id=error.request_id,
            ) from error

    def _client_settings(self) -> ClientSettings:
        return ClientSettings(
            max_connections=self.max_connections,
            proxy=self.proxy.get_secret_value() if isinstance(self.proxy, SecretStr) else self.proxy,
            verify=self.verify,
        )

    # -- copies and pickles

    def __getstate__(self) -> Any:
        state = super().__getstate__()
        if state["__dict__"].get("http_client") is None:
            return state
        warnings.warn(
            f"pickling {type(self).__name__} leaves its http_client behind; set it again where it is loaded",
            DroppedStateWarning,
            stacklevel=2,
        )
        return {**state, "__dict__": {**state["__dict__"], "http_client": None}}

    def __deepcopy__(self, memo: Any = None) -> Self:
        memo = {} if memo is None else memo
        memo[id(self.http_client)] = self.http_client
        return super().__deepcopy__(memo)


def explain_setup(service: type[RemoteService], fields: dict[str, Any]) -> str | None:
    """Return what has to be done before a service with these fields can be made, in a line; None: nothing."""
    try:
        _, missing_key = service._resolve(fields)  # pyright: ignore[reportPrivateUsage]  # as the service's constructor does
    except InvalidInput as error:
        return str(error)
    return None if missing_key is None else missing_key.message
