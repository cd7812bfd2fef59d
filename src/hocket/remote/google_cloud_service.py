"""A service of Google Cloud's: its project, its location, its address, and who asks it.

What is given counts before what the environment says, and that before what google-auth finds, which is asked by the first
call. So is a project that only the credentials name: until then it stands as ``-`` in URLs that are shown.
"""

import os
import re
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any, ClassVar
from urllib.parse import quote

from pydantic import Field, SecretStr

from hocket._secrets import MASK, Secret
from hocket.clouds.google import GoogleTokenSource, is_google_auth_here
from hocket.errors import AuthenticationError, InvalidInput
from hocket.http.interception import is_key_needed
from hocket.http.request import HTTPRequest
from hocket.remote.endpoint import Endpoint
from hocket.remote.options import FIELDS_INSTEAD, rename_fields
from hocket.remote.service import RemoteService

__all__ = ["GOOGLE_CLOUD_ENDPOINT", "GoogleCloudService"]

NO_PROJECT = "-"
"""What stands in a URL for a project that only the credentials know."""

_SHARED = ("us", "eu")  # locations of several regions; their hosts have another form


def _find_credentials(fields: Mapping[str, Any]) -> Mapping[str, object]:
    """Return what google-auth will find, as the field that has it."""
    return {"credentials": GoogleTokenSource()} if is_google_auth_here() else {}


GOOGLE_CLOUD_ENDPOINT = Endpoint(
    name="google_vertexai",
    hosts=("googleapis.com",),
    url_variable="GOOGLE_VERTEX_BASE_URL",
    key_header="x-goog-api-key",
    find_credentials=_find_credentials,
    extra="vertex",
)
"""Vertex AI, but for its location."""


class GoogleCloudService(RemoteService):
    """A service of Google Cloud's, Vertex AI.

    Args:
        project: which is billed. Default: ``GOOGLE_CLOUD_PROJECT``, or that of the credentials.
        location: "global", "us", "eu", or a region such as "europe-west4". Default: ``GOOGLE_CLOUD_LOCATION``, or "global".
        credentials: the path of a JSON file, what is in one, or an object of google-auth's (extra ``vertex``).
        api_key: a function that returns access tokens, or such a token.

    Without credentials and a key it is google-auth's to find some (extra ``vertex``): ``GOOGLE_APPLICATION_CREDENTIALS``,
    what ``gcloud auth application-default login`` left, a federated workload's, a metadata server's. Those go to Google's
    hosts, or to the address that the environment names. `RemoteService` tells the rest.

    Raises:
        InvalidInput: credentials and a key are given; the location is none; or a key is given, and no project.
        AuthenticationError: there are no credentials, and google-auth is not installed, which could find some.
    """

    _endpoint: ClassVar[Endpoint] = GOOGLE_CLOUD_ENDPOINT

    _publisher: ClassVar[str] = "google"
    """Whose models are asked."""

    _project_variables: ClassVar[tuple[str, ...]] = ("GOOGLE_CLOUD_PROJECT",)
    _location_variables: ClassVar[tuple[str, ...]] = ("GOOGLE_CLOUD_LOCATION",)

    _has_express: ClassVar[bool] = False
    """Whether a text given as key is one of Vertex's express mode, which needs no project; else it is an access token."""

    _unkeyed: ClassVar[frozenset[str]] = RemoteService._unkeyed | {"credentials"}  # pyright: ignore[reportPrivateUsage]  # its own class
    _renamed_fields: ClassVar[Mapping[str, str]] = {
        **FIELDS_INSTEAD,
        "access_token": "api_key=..., which may be a function",
        "api_endpoint": "base_url='https://...'",
        "api_transport": "nothing: requests go over HTTP",
        "client_options": "base_url=..., proxy=... and default_headers=...",
        "default_metadata": "default_headers={...}",
        "endpoint_version": "api_version=...",
        "project_id": "project=...",
        "region": "location=...",
        "vertexai": "nothing: this is Vertex AI",
    }

    project: str | None = None
    location: str = "global"
    credentials: Any = Field(default=None, exclude=True, repr=False)

    @classmethod
    def _resolve(cls, values: dict[str, Any]) -> tuple[dict[str, Any], AuthenticationError | None]:
        fields = rename_fields(values, cls.model_fields)
        given, key = fields.get("credentials"), fields.get("api_key")
        if given is not None:
            if key:
                raise InvalidInput("credentials and api_key are given, which are two ways to authenticate; give one")
            fields["credentials"] = given if isinstance(given, GoogleTokenSource) else GoogleTokenSource(given)
        location = fields.get("location") or _read_first(cls._location_variables) or "global"
        if not isinstance(location, str) or not re.fullmatch("[a-z0-9-]+", location):
            raise InvalidInput(f"location={location!r} must be 'global', 'us', 'eu' or a region such as 'europe-west4'")
        fields["location"] = location
        is_express = cls._is_express(key)
        if not is_express:
            fields["project"] = fields.get("project") or _read_first(cls._project_variables)
            if key and not fields["project"]:
                raise InvalidInput(
                    f"a token names no project: give project=..., or set {' or '.join(cls._project_variables)}"
                )
        return super()._resolve(fields)

    @classmethod
    def _choose_endpoint(cls, fields: Mapping[str, Any]) -> Endpoint:
        return _place(cls._endpoint, str(fields.get("location") or "global"))

    @classmethod
    def setup_needed(cls) -> str | None:
        """Return what has to be done before a model can be called, in a line; None: nothing. Asks the environment only."""
        named = _read_first((*cls._project_variables, "GOOGLE_APPLICATION_CREDENTIALS"))
        return super().setup_needed() or (None if named else f"set {' or '.join(cls._project_variables)}")

    @classmethod
    def _is_express(cls, key: object) -> bool:
        text = key.get_secret_value() if isinstance(key, SecretStr) else key
        return cls._has_express and isinstance(text, str) and text != "" and not text.startswith("ya29.")

    async def alist_models(self) -> list[str]:
        """Return the names of the publisher's models, in the server's order.

        Raises:
            LLMError: the server failed or refused, could not be reached, or gave no such list.
        """
        path = f"v1beta1/publishers/{self._publisher}/models?pageSize=1000"
        names = await self._fetch_names(path, "publisherModels", "name")
        return [name.rpartition("/")[2] for name in names]

    @property
    def _parent(self) -> str:
        """The path of the publisher, below the version."""
        publisher = f"publishers/{self._publisher}"
        if self.project is None and self._is_express(self.api_key):
            return publisher
        project = quote(self.project or NO_PROJECT, safe=":")
        return f"projects/{project}/locations/{self.location}/{publisher}"

    @property
    def _source(self) -> GoogleTokenSource:
        source: GoogleTokenSource = self.credentials
        return replace(source, settings=self._client_settings())

    async def _locate(self, request: HTTPRequest) -> HTTPRequest:
        unknown = f"/projects/{NO_PROJECT}/"
        if self.project is not None or self.credentials is None or unknown not in request.url or not is_key_needed():
            return request
        project = (await self._source.get()).project
        if not project:
            raise InvalidInput(
                f"neither project=... nor the credentials name a project; give it, or set {self._project_variables[0]}"
            )
        return replace(request, url=request.url.replace(unknown, f"/projects/{quote(project, safe=':')}/", 1))

    async def _authenticate(self, request: HTTPRequest) -> Mapping[str, str]:
        if self.credentials is None:
            return await super()._authenticate(request)
        found = await self._source.get()
        quota = {"x-goog-user-project": found.quota_project} if found.quota_project else {}
        return {"authorization": Secret(f"Bearer {found.token}"), **quota}

    def _mask_authentication(self, request: HTTPRequest) -> Mapping[str, str]:
        return super()._mask_authentication(request) if self.credentials is None else {"authorization": MASK}

    def _make_key_headers(self, key: str) -> Mapping[str, str]:
        return {"x-goog-api-key": key} if self._is_express(self.api_key) else {"authorization": f"Bearer {key}"}


@lru_cache(maxsize=256)
def _place(endpoint: Endpoint, location: str) -> Endpoint:
    """Return an endpoint as it is at a location."""
    if location == "global":
        host = "aiplatform.googleapis.com"
    else:
        host = f"aiplatform.{location}.rep" if location in _SHARED else f"{location}-aiplatform"
        host += ".googleapis.com"
    return replace(endpoint, base_url=f"https://{host}")


def _read_first(names: tuple[str, ...]) -> str | None:
    return next((os.environ[name] for name in names if os.environ.get(name)), None)
