"""A service of AWS's: its region, its address, and who asks it. Requests are signed here; nothing of AWS's is on their way.

What is given counts before what the environment says, and that before AWS's own chain, which is asked by the first call.
Credentials that were only found go to AWS's hosts, or to the address that the environment names, as every key does.
"""

import importlib.util
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from email.utils import parsedate_to_datetime
from typing import Any, ClassVar, cast
from urllib.parse import quote

from pydantic import Field, InstanceOf, SecretStr
from pydantic_core import from_json

from hocket._runtime import clock
from hocket._secrets import MASK
from hocket.clouds.aws import (
    AWSCredentials,
    CredentialsFunction,
    CredentialsSource,
    find_profile_region,
)
from hocket.clouds.aws_signature import sign_request
from hocket.errors import AuthenticationError, InvalidInput, LLMError
from hocket.errors.hints import excerpt
from hocket.http.failures import classify_error
from hocket.http.request import HTTPReply, HTTPRequest
from hocket.remote.endpoint import Endpoint, Headers
from hocket.remote.options import rename_fields
from hocket.remote.service import RemoteService

__all__ = ["AWS_ENDPOINT", "AWSService"]

KEY_FIELDS = ("aws_access_key_id", "aws_secret_access_key", "aws_session_token")
"""The fields for keys one by one, and in upper case the variables that may hold them."""

SKEW = 240.0
"""Seconds that a clock may be wrong before an error says so; AWS takes 300."""

_CLOCK_WORDS = ("InvalidSignatureException", "SignatureDoesNotMatch", "RequestExpired", "RequestTimeTooSkewed")
_PASSING = ("ModelErrorException", "ModelStreamErrorException")  # their 424 is the model's fault, and not a request's
_EXPIRED = ("ExpiredToken", "ExpiredTokenException")


def _find_credentials(fields: Mapping[str, Any]) -> Mapping[str, object]:
    """Return the credentials of the environment, or AWS's chain, as the field that has them."""
    id, secret, token = (os.environ.get(name.upper()) for name in KEY_FIELDS)
    if id and secret:
        return {"credentials": AWSCredentials(id, secret, token)}
    return {"credentials": CredentialsSource()} if importlib.util.find_spec("botocore") is not None else {}


AWS_ENDPOINT = Endpoint(
    name="bedrock",
    find_credentials=_find_credentials,
    extra="bedrock",
)
"""AWS's API for models, but for its region."""


class AWSService(RemoteService):
    """A service of AWS's.

    Args:
        region_name: such as "eu-west-1". Default: that of the model's ARN, ``AWS_REGION``, ``AWS_DEFAULT_REGION``, or the
            profile's.
        credentials: an `AWSCredentials`, or a sync or async function that returns one. With ``expires_at`` it is kept, and
            asked again before that; else it is asked for each attempt.
        credentials_profile_name: a profile of AWS's configuration files, which botocore reads.
        aws_access_key_id, aws_secret_access_key, aws_session_token: keys one by one.
        api_key: a key of Bedrock's instead, or a function that returns one; it goes as a bearer token.

    Without any of these ``AWS_BEARER_TOKEN_BEDROCK`` counts, then ``AWS_ACCESS_KEY_ID`` and ``AWS_SECRET_ACCESS_KEY``, then
    AWS's chain (extra ``bedrock``): profiles, SSO, web identity, the roles of pods and machines. `RemoteService` tells the
    rest.

    Raises:
        InvalidInput: two of them contradict one another, half of a key is missing, or there is no region.
        AuthenticationError: there are no credentials, and botocore is not installed, which could find some.
    """

    _endpoint: ClassVar[Endpoint] = AWS_ENDPOINT

    _signing_name: ClassVar[str] = "bedrock"
    """The name that the service signs by."""

    _models_path: ClassVar[str] = "foundation-models"
    """What lists the models of Bedrock."""

    _unkeyed: ClassVar[frozenset[str]] = RemoteService._unkeyed | {  # pyright: ignore[reportPrivateUsage]  # its own class
        "credentials",
        "credentials_profile_name",
        *KEY_FIELDS,
    }

    _local_fields: ClassVar = RemoteService._local_fields | {"credentials_profile_name"}  # pyright: ignore[reportPrivateUsage]  # as above

    region_name: str | None = None
    credentials: InstanceOf[AWSCredentials] | InstanceOf[CredentialsSource] | CredentialsFunction | None = Field(
        default=None, exclude=True, repr=False
    )
    credentials_profile_name: str | None = None
    aws_access_key_id: SecretStr | str | None = Field(default=None, exclude=True, repr=False)
    aws_secret_access_key: SecretStr | str | None = Field(default=None, exclude=True, repr=False)
    aws_session_token: SecretStr | str | None = Field(default=None, exclude=True, repr=False)

    @classmethod
    def _resolve(cls, values: dict[str, Any]) -> tuple[dict[str, Any], AuthenticationError | None]:
        fields = rename_fields(values, cls.model_fields)
        _check_given(fields)
        region = fields["region_name"] = _find_region(fields)
        if not region and not (fields.get("api_key") and fields.get("base_url")):
            raise InvalidInput("AWS has regions, and none is named: give region_name='eu-west-1', or set AWS_REGION")
        if region and not re.fullmatch("[a-z0-9-]+", region):  # it becomes a part of the address
            raise InvalidInput(f"the region {excerpt(region)} is not one of AWS's: region_name='eu-west-1'")
        if keys := _take_keys(fields):
            fields["credentials"] = keys
        elif profile := fields.get("credentials_profile_name"):
            fields["credentials"] = CredentialsSource(profile=profile)
        return super()._resolve(fields)

    @classmethod
    def _choose_endpoint(cls, fields: Mapping[str, Any]) -> Endpoint:
        region = fields.get("region_name") or ""
        suffix = "amazonaws.com.cn" if region.startswith("cn-") else "amazonaws.com"
        hosts = (f"{region}.{suffix}", f"{region}.vpce.{suffix}", f"{region}.api.aws") if region else ()
        addresses = ("AWS_ENDPOINT_URL_BEDROCK_RUNTIME", "AWS_ENDPOINT_URL")
        return replace(
            cls._endpoint,
            base_url=f"https://bedrock-runtime.{region}.{suffix}" if region else None,
            hosts=tuple(
                f"bedrock-runtime{kind}.{host}" for host in hosts for kind in ("", "-fips")
            ),  # others are strangers'
            url_variable=next((name for name in addresses if os.environ.get(name)), addresses[0]),
            key_variables=() if fields.get("credentials") else ("AWS_BEARER_TOKEN_BEDROCK",),
        )

    async def alist_models(self) -> list[str]:
        """Return the names of the models that the region offers, in its order. Inference profiles are not among them.

        Raises:
            LLMError: the server failed or refused, could not be reached, or gave no such list.
        """
        url = self._url(self._models_path).replace("://bedrock-runtime.", "://bedrock.", 1)
        return await self._fetch_names_at(url, "modelSummaries", "modelId")

    def _ask(self, model: str, verb: str, body: Mapping[str, object], headers: Headers | None = None) -> HTTPRequest:
        """Return the request that has a model of Bedrock's do something, such as ``invoke``."""
        return self._post(self._url(f"model/{quote(model, safe='')}/{verb}"), body, headers)

    async def _authenticate(self, request: HTTPRequest) -> Mapping[str, str]:
        if self.credentials is None:
            return await super()._authenticate(request)
        found, at = await self._source.get(), clock.current().time()
        return sign_request(request, found, region=self.region_name or "", service=self._signing_name, at=at)

    def _mask_authentication(self, request: HTTPRequest) -> Mapping[str, str]:
        return super()._mask_authentication(request) if self.credentials is None else {"authorization": MASK}

    @property
    def _source(self) -> CredentialsSource:
        given = self.credentials
        return given if isinstance(given, CredentialsSource) else CredentialsSource(given)

    def _read_failure(self, reply: HTTPReply, secrets: Sequence[str]) -> LLMError:
        """Return the error of a reply whose kind stands in a header, ``x-amzn-errortype: KindException:http://...``."""
        kind, body = _read_body(reply)
        error = classify_error(reply.status, reply.headers, body, provider=self._provider, secrets=secrets)
        if kind in _PASSING:
            error.retryable = True
        elif kind in _EXPIRED and self.credentials is not None:
            error.retryable = self._source.reject(secrets)
        elif kind in _CLOCK_WORDS and abs(skew := _compute_skew(reply.headers)) > SKEW:
            error.message += f"; this machine's clock is {abs(skew):.0f} s {'ahead' if skew > 0 else 'behind'}: set it"
            error.args = (error.message,)
        return error


def _check_given(fields: Mapping[str, Any]) -> None:
    """Raise `InvalidInput` where ways to authenticate that were given contradict one another, or one is not whole."""
    ways = {
        "credentials": fields.get("credentials"),
        "credentials_profile_name": fields.get("credentials_profile_name"),
        "api_key": fields.get("api_key"),
        "aws_access_key_id": any(fields.get(name) for name in KEY_FIELDS),
    }
    given = [name for name, value in ways.items() if value]
    if len(given) > 1:
        raise InvalidInput(
            f"{' and '.join(given)} are given, which are ways to authenticate of their own; give one of them"
        )
    keys = [name for name in KEY_FIELDS[:2] if fields.get(name)]
    if "aws_access_key_id" in given and len(keys) < 2:
        missing = " and ".join(name for name in KEY_FIELDS[:2] if name not in keys)
        raise InvalidInput(f"{missing} is missing: a key of AWS's has an id and a secret")


def _take_keys(fields: dict[str, Any]) -> AWSCredentials | None:
    """Return the keys that were given one by one, out of the fields; None: there are none."""
    given = [fields.pop(name, None) for name in KEY_FIELDS]
    id, secret, token = (value.get_secret_value() if isinstance(value, SecretStr) else value for value in given)
    return AWSCredentials(id, secret, token) if id else None


def _find_region(fields: Mapping[str, Any]) -> str | None:
    if region := fields.get("region_name"):
        return str(region)
    parts = str(fields.get("model") or "").split(":")
    if parts[0] == "arn" and len(parts) > 3 and parts[3]:
        return parts[3]
    named = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")
    return named or find_profile_region(fields.get("credentials_profile_name"), os.environ)


def _read_body(reply: HTTPReply) -> tuple[str, object]:
    """Return the kind of an error, and its body with the kind in it, in a form that `classify_error` reads."""
    try:
        data: object = from_json(reply.content)
    except ValueError:
        data = None
    fields: Mapping[str, object] = cast("Mapping[str, object]", data) if isinstance(data, Mapping) else {}
    said = reply.headers.get("x-amzn-errortype") or str(fields.get("__type") or "")
    kind = said.partition(":")[0].rpartition("#")[2]
    if not kind and not fields:
        return kind, reply.content
    text = fields.get("message") or fields.get("Message")
    return kind, {"error": {"type": kind, "message": text or reply.content.decode(errors="replace")}}


def _compute_skew(headers: Mapping[str, str]) -> float:
    """Return by how many seconds this machine's clock is ahead of the server's; 0: the server does not say its time."""
    try:
        told = parsedate_to_datetime(headers.get("date", ""))
    except ValueError:
        return 0.0
    return clock.current().time() - told.timestamp()
