"""Where the server is and who asks, settled once when a model is made: what chat, text and embedding models share.

The environment is read at construction and never again, so that a model says itself what it will do, and a change of
the environment later on reaches no running service.
"""

import os
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from pydantic import Field, InstanceOf, SecretStr, field_validator
from pydantic_core import from_json

from hocket._secrets import unwrap_secret, wrap_secrets
from hocket.errors import AuthenticationError, InvalidInput, InvalidReply
from hocket.http.request import HTTPReply, HTTPRequest, json_request
from hocket.profiles import ModelProfile, find_profile
from hocket.providers.openai.dialects import COMPATIBLE, DIALECTS, Dialect, dialect_at, named_dialect
from hocket.remote.service import Headers, RemoteService

__all__ = ["OpenAIService", "endpoint", "settled", "setup_needed"]

_OPENAI = DIALECTS["openai"]


class OpenAIService(RemoteService):
    """A server that speaks OpenAI's formats.

    Args:
        dialect: whose way of speaking them: a name (`DIALECTS` has them all), or a `Dialect` of one's own. Default: known
            by the host of ``base_url``; `COMPATIBLE` where that is not known.
        base_url: default: what the dialect's variable says (``OPENAI_BASE_URL``), else its public address.
        api_key: default: what the dialect's variable says (``OPENAI_API_KEY``). A host that is not known gets no key
            from the environment, unless its address is from there as well.
        organization, project: to be billed; default: ``OPENAI_ORG_ID`` and ``OPENAI_PROJECT_ID``, with OpenAI only.
        default_query: parameters of the URL for each request, kept as `default_headers` are; Azure's ``api-version`` by
            default from ``OPENAI_API_VERSION``.

    `RemoteService` tells the rest.

    Raises:
        AuthenticationError: the server needs a key and there is none; the message names the variable.
        InvalidInput: the dialect has no address of its own and none was given.
    """

    dialect: str | InstanceOf[Dialect] | None = None
    organization: str | None = None
    project: str | None = None
    default_query: Headers | None = Field(default=None, repr=False)

    @field_validator("default_query")
    @classmethod
    def _hide_parameters(cls, query: Headers | None) -> Headers | None:
        return None if query is None else wrap_secrets(query)

    @classmethod
    def _settled(cls, values: dict[str, Any]) -> dict[str, Any]:
        return settled(values, os.environ)

    @classmethod
    def setup_needed(cls) -> str | None:
        """Return what has to be done before OpenAI can be called, in a line; None: nothing. Asks the environment only."""
        return setup_needed({})

    async def alist_models(self) -> list[str]:
        """Return the names of the models that the server offers to this key, in its order.

        Raises:
            LLMError: the server failed or refused, could not be reached, or gave no such list.
        """
        url = endpoint(self._dialect, self.base_url, "models", "", self.default_query)
        return await self._send(HTTPRequest("GET", url, {"accept": "application/json"}), _names_of_models)

    @property
    def lc_secrets(self) -> dict[str, str]:
        """The key is dumped as a reference to the variable that it is read from by default."""
        return {"api_key": next(iter(self._dialect.key_variables), "API_KEY")}

    @property
    def model_name(self) -> str:
        """The model: LangChain's other name for ``model``, understood at construction as well."""
        return str(self._served_model)

    @property
    def _dialect(self) -> Dialect:
        return _spoken(self.dialect, self.base_url)

    @property
    def _provider(self) -> str:
        return self._dialect.name

    @property
    def _refused_options(self) -> frozenset[str]:
        return self._dialect.refused

    def _resolve_model_profile(self) -> ModelProfile | None:
        return find_profile(str(self._served_model), self._dialect.name)

    def _auth_headers(self, key: str) -> Mapping[str, str]:
        header = self._dialect.key_header
        return {header: f"Bearer {key}" if header == "authorization" else key}

    def _post(
        self, path: str, model: str, body: Mapping[str, Any], headers: Mapping[str, str | SecretStr] | None = None
    ) -> HTTPRequest:
        """Return the request for a path of the API, but for its key.

        Raises:
            InvalidInput: the body holds something that JSON has no word for.
        """
        account = {"openai-organization": self.organization, "openai-project": self.project}
        said = {name: value for name, value in account.items() if value} | dict(headers or {})
        url = endpoint(self._dialect, self.base_url, path, model, self.default_query)
        try:
            return json_request(url, body, said)
        except ValueError as error:
            raise InvalidInput(f"the request cannot be written as JSON: {error}") from error


def _names_of_models(reply: HTTPReply) -> list[str]:
    try:
        return [str(model["id"]) for model in from_json(reply.content)["data"]]
    except (KeyError, TypeError, ValueError) as error:
        raise InvalidReply("the reply is no list of models") from error


def settled(values: Mapping[str, Any], environ: Mapping[str, str]) -> dict[str, Any]:
    """Return a service's fields, with those that were left out and are to be found in the environment.

    Raises:
        AuthenticationError, InvalidInput: see `OpenAIService`.
    """
    fields = dict(values)
    if "model_name" in fields:  # LangChain's other name
        name = fields.pop("model_name")
        if fields.setdefault("model", name) != name:
            raise InvalidInput(f"model is {fields['model']!r} and model_name {name!r}; give one of them")
    given, url = fields.get("dialect"), fields.get("base_url")
    if not isinstance(url, str | None):
        return fields  # for the validator to refuse
    asked = _OPENAI if not (given or url) else _spoken(given, url or "")
    if not url:
        url = fields["base_url"] = environ.get(asked.url_variable or "") or asked.base_url
    if not url:
        variable = f", or set {asked.url_variable}" if asked.url_variable else ""
        raise InvalidInput(f"the dialect {asked.name!r} has no address of its own: give base_url=...{variable}")
    dialect = _spoken(given, url)
    named = dialect if dialect is not COMPATIBLE else asked  # an unknown host, by OPENAI_BASE_URL: its key is there too
    if not fields.get("api_key"):
        fields["api_key"] = next((environ[name] for name in named.key_variables if environ.get(name)), None)
    if not fields["api_key"] and dialect.needs_key:
        variables = " or ".join(dialect.key_variables)
        raise AuthenticationError(
            f"{urlsplit(url).hostname} needs a key: set {variables}, or give api_key=...", provider=dialect.name
        )
    for field, variable in named.account_variables.items():
        if fields.get(field) is None and environ.get(variable):
            fields[field] = environ[variable]
    query = {name: environ[variable] for name, variable in dialect.query_variables.items() if environ.get(variable)}
    if query and not urlsplit(url).path.strip("/"):
        fields["default_query"] = {**query, **(fields.get("default_query") or {})}
    return fields


def setup_needed(fields: Mapping[str, Any]) -> str | None:
    """Return what has to be done before a service with these fields can be made, in a line; None: nothing."""
    try:
        settled(fields, os.environ)
    except (AuthenticationError, InvalidInput) as error:
        return error.message if isinstance(error, AuthenticationError) else str(error)
    return None


def endpoint(
    dialect: Dialect, base_url: str, path: str, model: str, query: Mapping[str, str | SecretStr] | None = None
) -> str:
    """Return the URL of a path of the API.

    Azure has two: ``/openai/v1``, and an older one with the model in the path, which is meant where ``api-version`` is
    given with a base URL that has no path itself.
    """
    root = base_url
    if not urlsplit(base_url).path.strip("/"):
        older = dialect.deployments and "api-version" in (query or {})
        root += f"/openai/deployments/{quote(model, safe='')}" if older else dialect.root
    return f"{root}/{path}" + (
        f"?{urlencode({key: unwrap_secret(value) for key, value in query.items()})}" if query else ""
    )


def _spoken(dialect: str | Dialect | None, base_url: str) -> Dialect:
    if isinstance(dialect, Dialect):
        return dialect
    return named_dialect(dialect) if dialect else dialect_at(base_url)
