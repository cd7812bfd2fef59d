"""A server that speaks OpenAI's formats: its dialect, who is billed, and Azure's URLs."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from pydantic import InstanceOf, SecretStr

from hocket._secrets import unwrap_secret
from hocket.http.request import HTTPRequest
from hocket.providers.openai.dialects import DIALECTS, Dialect, dialect_at, named_dialect
from hocket.remote.endpoint import Headers
from hocket.remote.service import RemoteService

__all__ = ["OpenAIService", "build_url"]

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
        default_query: default: Azure's ``api-version``, from ``OPENAI_API_VERSION``.

    `RemoteService` tells the rest.
    """

    dialect: str | InstanceOf[Dialect] | None = None
    organization: str | None = None
    project: str | None = None

    async def alist_models(self) -> list[str]:
        """Return the names of the models that the server offers to this key, in its order.

        Raises:
            LLMError: the server failed or refused, could not be reached, or gave no such list.
        """
        url = build_url(self._dialect, self.base_url, "models", "", self.default_query)
        return await self._fetch_names_at(url, "data", "id")

    @classmethod
    def _choose_endpoint(cls, fields: Mapping[str, Any]) -> Dialect:
        dialect, url = fields.get("dialect"), fields.get("base_url")
        if isinstance(dialect, Dialect):
            return dialect
        if dialect and isinstance(dialect, str):
            return named_dialect(dialect)
        return dialect_at(url) if url else _OPENAI

    @property
    def _dialect(self) -> Dialect:
        return self._choose_endpoint(self.__dict__)

    @property
    def _refused_options(self) -> frozenset[str]:
        return self._dialect.refused

    def _post_to(self, path: str, model: str, body: Mapping[str, object]) -> HTTPRequest:
        """Return the request for a path of the API, but for its key.

        Raises:
            InvalidInput: the body holds something that JSON has no word for.
        """
        account = {"openai-organization": self.organization, "openai-project": self.project}
        headers: Headers = {name: value for name, value in account.items() if value}
        return self._post(build_url(self._dialect, self.base_url, path, model, self.default_query), body, headers)


def build_url(
    dialect: Dialect, base_url: str, path: str, model: str, query: Mapping[str, str | SecretStr] | None = None
) -> str:
    """Return the URL of a path of the API.

    Azure has two: ``/openai/v1``, and an older one with the model in the path, which is meant where ``api-version`` is
    given with a base URL that has no path itself. Some paths are not below a model there: then ``model`` is "".
    """
    root = base_url
    if not urlsplit(base_url).path.strip("/"):
        older = dialect.deployments and "api-version" in (query or {})
        root += (f"/openai/deployments/{quote(model, safe='')}" if model else "/openai") if older else dialect.root
    return f"{root}/{path}" + (
        f"?{urlencode({key: unwrap_secret(value) for key, value in query.items()})}" if query else ""
    )
