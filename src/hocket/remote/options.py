"""The fields of services and the options of calls: the names that other libraries give them, and the class of a call's."""

from collections.abc import Collection, Mapping
from functools import lru_cache
from typing import ClassVar, cast

from pydantic import BaseModel, ConfigDict, create_model

from hocket.errors import InvalidInput, Unsupported
from hocket.language_models.options import INSTEAD, OTHER_NAMES
from hocket.load.late_build import LateModel
from hocket.messages.content import Fields, FieldsView
from hocket.remote.endpoint import Headers

__all__ = ["CallFields", "make_call_options", "merge_fields", "read_schema_form", "rename_fields", "write_options"]

OTHER_FIELDS: Mapping[str, str] = {
    **OTHER_NAMES,
    "additional_headers": "default_headers",
    "anthropic_api_key": "api_key",
    "anthropic_api_url": "base_url",
    "anthropic_proxy": "proxy",
    "api_base": "base_url",
    "auth_token": "api_key",
    "azure_endpoint": "base_url",
    "bedrock_api_key": "api_key",
    "cohere_api_key": "api_key",
    "default_request_timeout": "timeout",
    "endpoint": "base_url",
    "endpoint_url": "base_url",
    "google_api_key": "api_key",
    "http_async_client": "http_client",
    "mistral_api_key": "api_key",
    "model_id": "model",
    "model_name": "model",
    "openai_api_base": "base_url",
    "openai_api_key": "api_key",
    "openai_organization": "organization",
    "openai_proxy": "proxy",
    "request_timeout": "timeout",
}
"""Names of fields, in LangChain's packages for providers and in official SDKs, that mean the same; and hocket's."""

FIELDS_INSTEAD: Mapping[str, str] = {
    **INSTEAD,
    "api_version": "default_query={'api-version': ...}",
    "async_client_kwargs": "http_client=httpx.AsyncClient(...), or proxy=, verify= and default_headers=",
    "azure_ad_token": "api_key=..., with dialect='azure_entra'",
    "azure_ad_token_provider": "api_key=..., which may be a function, with dialect='azure_entra'",
    "azure_deployment": "model=..., the name of the deployment",
    "client_kwargs": "http_client=httpx.AsyncClient(...), or proxy=, verify= and default_headers=",
    "max_concurrent_requests": "max_in_flight=...",
    "max_retries": "retry=..., which counts all attempts: max_retries=2 is retry=3",
    "openai_api_version": "default_query={'api-version': ...}",
    "tiktoken_model_name": "custom_get_token_ids=..., or nothing: a known model's tokens are counted by its name",
    "transport": "nothing: requests go over HTTP",
}
"""Its names that have no equal here, and what to write instead."""


class CallFields(LateModel):
    """What a call may say beyond the options of its model.

    Args:
        extra_headers: further headers of the request. A secret is best a `SecretStr`, which does not show in the frames of
            a traceback either.
    """

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid", frozen=True)

    extra_headers: Headers | None = None


@lru_cache
def make_call_options(options: type[BaseModel]) -> type[CallFields]:
    """Return the class of one call's options: those of a model, and `CallFields`. It refuses other names."""
    bases: tuple[type[BaseModel], ...] = (CallFields, options)
    made = create_model(f"Call{options.__name__}", __base__=bases, __module__=options.__module__)
    return cast("type[CallFields]", made)


def write_options(values: FieldsView, words: Mapping[str, str], *elsewhere: str) -> Fields:
    """Return the options of a call as fields of a body.

    Args:
        values: the options that are set (`hocket.language_models.options.collect_options`).
        words: what the server calls those that have another name with it.
        elsewhere: further options that do not simply go into the body under their names, beside those that never do.
    """
    return {
        words.get(name, name): value
        for name, value in values.items()
        if name not in _ELSEWHERE and name not in elsewhere
    }


def read_schema_form(form: FieldsView, provider: str) -> FieldsView:
    """Return what a ``response_format`` says of a JSON schema: ``schema``, and perhaps ``name``.

    Args:
        form: the call's.
        provider: whose API knows no other form.

    Raises:
        Unsupported: it is another form.
    """
    if form.get("type") != "json_schema":
        raise Unsupported(
            f"an answer of the form {form.get('type')!r} cannot be asked for: the API takes a JSON schema; use "
            "with_structured_output(schema)",
            options=("response_format",),
            provider=provider,
        )
    return cast(FieldsView, form.get("json_schema", form))


def merge_fields(body: FieldsView, further: FieldsView, merged: Collection[str] = ()) -> Fields:
    """Return a body with further fields, which go over its own.

    Args:
        body: the fields of a request.
        further: the call's ``extra_body``.
        merged: names of fields that are objects, and are merged key by key.

    Raises:
        InvalidInput: such a field of the call's is no dict.
    """
    made = {**body, **further}
    for name in merged:
        value: object = further.get(name) or {}
        if not isinstance(value, Mapping):
            raise InvalidInput(f"the {name} of extra_body are {type(value).__name__}, not a dict")
        if own := {**body.get(name, {}), **cast(FieldsView, value)}:
            made[name] = own
    return made


_ELSEWHERE = frozenset({"model", "stop", "tools", "tool_choice", "prompt_cache", "extra_body", "extra_headers"})


def rename_fields(fields: FieldsView, known: Mapping[str, object]) -> Fields:
    """Return the fields of a service under hocket's names.

    Args:
        fields: as the caller gave them.
        known: the service's own, which go before other libraries' names.

    Raises:
        InvalidInput: a field is given under two names, with two values.
    """
    renamed: Fields = {}
    for name, value in fields.items():
        own = name if name in known else OTHER_FIELDS.get(name, name)
        if own in renamed and renamed[own] != value:
            raise InvalidInput(f"{name} is another name of {own}, and they differ; give one of them")
        renamed[own] = value
    return renamed
