"""Routers out of the file of a LiteLLM proxy.

What is understood is done as LiteLLM's own router does it, which was seen by asking both the same (tests/interop/litellm)
and is not always what its pages tell. Whatever else is set is named, all of it at once: a file that is obeyed in half,
without a word, is worse than one that is refused.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, TypeAlias
from urllib.parse import quote, urlsplit

from pydantic import ValidationError

from hocket._runtime.callers import warn_caller
from hocket.errors import HocketWarning, InvalidInput, LLMError, UnknownModel
from hocket.errors.hints import excerpt, near_name, near_name_hint, shorten
from hocket.language_models.base import LanguageModelInput
from hocket.language_models.chat_models import BaseChatModel
from hocket.language_models.option_policy import VOCABULARY
from hocket.language_models.registry import init_chat_model
from hocket.messages import AIMessage
from hocket.rate_limiters import RateLimiter
from hocket.routing.choice import Rule
from hocket.routing.deployment import Deployment
from hocket.routing.litellm_file import LiteLLMNotes, read_list, read_litellm_file, read_mapping, read_number
from hocket.routing.router import ChatRouter
from hocket.runnables import RunnableWithFallbacks
from hocket.timeouts import HTTP_TIMEOUT, Timeout

__all__ = ["RoutedModel", "routers_from_litellm"]

RoutedModel: TypeAlias = ChatRouter | RunnableWithFallbacks[LanguageModelInput, AIMessage]
"""A group of a LiteLLM file: a router, or one with the routers of its fallbacks behind it."""

_PROVIDERS = {
    "bedrock/invoke": "anthropic_bedrock",
    "bedrock/converse": "bedrock",
    "openai/responses": "openai_responses",
    "cohere_chat": "cohere",
    "dashscope": "alibaba",
    "hosted_vllm": "vllm",
    "litellm_proxy": "openai",
    "ollama_chat": "ollama",
    "vertex_ai": "google_vertexai",
}
"""What LiteLLM writes before a model's name, where a provider has another name here."""

_FIELDS = {
    "api_base": "base_url",
    "base_url": "base_url",
    "api_key": "api_key",
    "organization": "organization",
    "extra_headers": "default_headers",
    "max_parallel_requests": "max_in_flight",
}
_CLOUD_FIELDS = {
    "bedrock": {
        "aws_access_key_id": "aws_access_key_id",
        "aws_secret_access_key": "aws_secret_access_key",
        "aws_session_token": "aws_session_token",
        "aws_region_name": "region_name",
        "aws_profile_name": "credentials_profile_name",
        "aws_bedrock_runtime_endpoint": "base_url",
    },
    "vertex": {"vertex_project": "project", "vertex_location": "location", "vertex_credentials": "credentials"},
}
_OPTIONS = VOCABULARY | {
    *("max_completion_tokens", "service_tier", "verbosity", "user", "store", "safety_identifier", "prompt_cache_key"),
    *("modalities", "prediction", "web_search_options", "thinking"),
}
_RULES: Mapping[str, Rule] = {
    "simple-shuffle": "weight",
    "least-busy": "weight",
    "latency-based-routing": "latency",
    "usage-based-routing": "headroom",
    "usage-based-routing-v2": "headroom",
    "cost-based-routing": "cost",
}
_METRICS = ("weight", "rpm", "tpm")  # shares are by the first of them that one of the group has
_DEFAULTS = ("timeout", "stream_timeout", "max_parallel_requests", "drop_params")
_SHARED = ("num_retries", "allowed_fails", "fallbacks", "default_fallbacks", "request_timeout", "drop_params")
_SECTIONS = ("model_list", "router_settings", "litellm_settings", "general_settings", "environment_variables")
_SETTINGS = {
    *(*_SHARED, *_DEFAULTS, "routing_strategy", "cooldown_time", "model_group_alias"),
    *("redis_host", "redis_password"),
}
_ANY = "*"
_LONGEST_REASON = 150


def routers_from_litellm(
    config: str | Path | Mapping[str, object],
    *,
    store: str | None = None,
    unsupported: Literal["raise", "warn"] = "raise",
) -> dict[str, RoutedModel]:
    """Return the groups of a LiteLLM proxy's file, and its aliases, by the names that clients ask for.

    Args:
        config: the path of the file, which is read at once, or what it says. ``os.environ/NAME`` is read now.
        store: where processes share rests, as `ChatRouter` takes it; None: the Redis of the file's ``router_settings``, if
            it has one.
        unsupported: what becomes of parts that are not done here: "raise" refuses them, in one error that names them all;
            "warn" does without them, and without deployments that cannot be made, in one warning.

    Raises:
        InvalidInput: the file cannot be read, is no such file, reads a variable that is not there, or has parts that are not
            done here.
        MissingDependency: PyYAML (``hocket[yaml]``), or what a model or the store needs, is not installed.
    """
    if unsupported not in ("raise", "warn"):
        raise InvalidInput(f"unsupported is {unsupported!r}; it is 'raise' or 'warn'")
    said = read_mapping(read_litellm_file(config) if isinstance(config, str | Path) else config, "the LiteLLM file")
    notes = LiteLLMNotes()
    models = _Plan(said, store, notes).make_models()
    if faults := "; ".join(notes.unsupported):
        if unsupported == "raise" or not models:
            raise InvalidInput(f"parts of the LiteLLM file are wrong, or not done here: {faults}")
        warn_caller(f"left out of the LiteLLM file: {faults}", HocketWarning)
    return models


@dataclass
class _Entry:
    """An entry of ``model_list``: its group, what it makes, its numbers of ``_METRICS``, and the seconds of a request."""

    group: str
    deployment: Deployment
    shares: Mapping[str, float]
    total: float | None


class _Plan:
    """What a file says, on its way to models.

    Raises:
        InvalidInput: it is no such file, or a variable is missing.
    """

    def __init__(self, said: dict[str, Any], store: str | None, notes: LiteLLMNotes) -> None:
        self._notes = notes
        if "model_list" not in said:
            found = near_name("model_list", said)
            raise InvalidInput(f"the LiteLLM file has no model_list{f', but {found!r}' if found else ''}")
        lite, general = (read_mapping(said.pop(f"{key}_settings", None), key) for key in ("litellm", "general"))
        shared = {key: notes.fill(lite.pop(key)) for key in _SHARED if key in lite}
        shared["timeout"] = shared.pop("request_timeout", None)
        settings = shared | notes.fill(read_mapping(said.pop("router_settings", None), "router_settings"))
        self._entries: list[object] = read_list(notes.fill(said.pop("model_list", None)), "model_list")
        if not self._entries:
            raise InvalidInput("model_list is empty; it has a deployment at least")
        notes.check_missing()
        settings["max_parallel_requests"] = settings.pop("default_max_parallel_requests", None)
        self._defaults = {key: value for key in _DEFAULTS if (value := settings.pop(key, None)) is not None}
        self._aliases = self._read_aliases(settings)
        self._fallbacks = self._read_fallbacks(settings)
        strategy = str(settings.pop("routing_strategy", None) or "simple-shuffle")
        self._has_limits = _RULES.get(strategy) == "headroom"
        self._fields: dict[str, Any] = {"store": store or _read_redis(settings), "by": _RULES.get(strategy, "weight")}
        if strategy not in _RULES:
            reason = f"it is {excerpt(strategy)}; {near_name_hint(strategy, _RULES)}"
            notes.refuse("router_settings.routing_strategy", reason)
        for key, name in (("num_retries", "retry"), ("allowed_fails", "allowed_fails")):
            if (number := read_number(settings.pop(key, None), key, least=0)) is not None:
                self._fields[name] = int(number) + 1  # all attempts; the failure with which a rest begins
        if (cooldown := read_number(settings.pop("cooldown_time", None), "cooldown_time")) is not None:
            self._fields["cooldown"] = cooldown
        for section, rest in (
            ("router_settings.", settings),
            ("litellm_settings.", lite),
            ("general_settings.", general),
        ):
            notes.refuse_all(section, rest, _SETTINGS)
        notes.refuse_all("", said, _SECTIONS)

    def _read_aliases(self, settings: dict[str, Any]) -> dict[str, str]:
        aliases: dict[str, str] = {}
        for name, target in read_mapping(settings.pop("model_group_alias", None), "model_group_alias").items():
            parts = read_mapping({"model": target} if isinstance(target, str) else target, name)
            aliases[name] = str(parts.pop("model", None))
            self._notes.refuse_all(f"router_settings.model_group_alias.{name}.", parts)
        return aliases

    def _read_fallbacks(self, settings: dict[str, Any]) -> dict[str, list[str]]:
        """Return the groups behind each group. Of two lists for one group the first counts."""
        given = read_list(settings.pop("fallbacks", None) or [], "fallbacks")
        given.append({_ANY: settings.pop("default_fallbacks", None) or []})
        fallbacks: dict[str, list[str]] = {}
        for one in given:
            for name, targets in read_mapping(one, "an item of fallbacks").items():
                names = [target for target in read_list(targets, f"fallbacks.{name}") if isinstance(target, str)]
                if len(names) < len(targets):
                    self._notes.refuse(f"router_settings.fallbacks.{name}", "it is a list of names")
                fallbacks.setdefault(name, names)
        return fallbacks

    def make_models(self) -> dict[str, RoutedModel]:
        """Return the models, by the names that clients ask for."""
        groups: dict[str, list[_Entry]] = {}
        for at, parts in enumerate(self._entries):
            if (entry := self._make_entry(f"model_list[{at}]", read_mapping(parts, f"model_list[{at}]"))) is not None:
                groups.setdefault(entry.group, []).append(entry)
        routers = {name: self._make_router(name, group) for name, group in groups.items()}
        models: dict[str, RoutedModel] = {}
        for name, group in {**{name: name for name in routers}, **self._aliases}.items():
            names = [group, *self._find_behind(self._get_behind(name), {group})]
            for missing in (one for one in names if one not in routers):
                where = "model_group_alias" if missing == group else "fallbacks"
                self._refuse_group(f"router_settings.{where}, for {name}", missing, routers)
            if group in routers:
                first, *others = (routers[one] for one in names if one in routers)
                models[name] = _with_fallbacks(first, others) if others else first
        for unknown in sorted(self._fallbacks.keys() - {*routers, *self._aliases, _ANY}):
            self._refuse_group("router_settings.fallbacks", unknown, models)
        return models

    def _refuse_group(self, place: str, name: str, known: Iterable[str]) -> None:
        self._notes.refuse(place, f"there is no group {excerpt(name)}; {near_name_hint(name, known)}")

    def _get_behind(self, name: str) -> list[str]:
        return self._fallbacks.get(name, self._fallbacks[_ANY])

    def _find_behind(self, behind: list[str], seen: set[str]) -> Iterator[str]:
        """Yield groups in their order: after each one those that it has behind itself by its name, and none twice."""
        for target in behind:
            group = self._aliases.get(target, target)
            if group not in seen:
                seen.add(group)
                yield group
                yield from self._find_behind(self._fallbacks.get(target, []), seen)

    def _make_entry(self, place: str, parts: dict[str, Any]) -> _Entry | None:
        """Return what an entry of the list makes; None: nothing here."""
        notes = self._notes
        given, info = (read_mapping(parts.pop(key, None), f"{place}.{key}") for key in ("litellm_params", "model_info"))
        group, named, mode = parts.pop("model_name", None), given.pop("model", None), info.pop("mode", None) or "chat"
        if not isinstance(group, str) or not isinstance(named, str) or not group or not named:
            raise InvalidInput(f"{place} has no model_name, or no litellm_params.model")
        place += f" {group}"
        if _ANY in group + named:
            notes.refuse(place, "a wildcard; name each model")
            return None
        if mode not in ("chat", "completion", "responses"):
            notes.refuse(f"{place}.model_info.mode", f"it is {excerpt(mode)}, and this makes chat models")
            return None
        given = self._defaults | given
        shares = {key: read_number(given.pop(key, None), f"{place}.{key}", least=0) or 0.0 for key in _METRICS}
        provider, model_name = _split_model(named, given.pop("custom_llm_provider", None))
        fields = _read_fields(place, provider or "", model_name, given)
        name = info.pop("id", None)
        for section, rest in ((".litellm_params.", given), (".model_info.", info), (".", parts)):
            notes.refuse_all(place + section, rest)
        model = self._make_model(place, provider, model_name, fields)
        if model is None:
            return None
        limiter, rpm, tpm = None, shares["rpm"] or None, shares["tpm"] or None
        if self._has_limits and (rpm or tpm):
            account = (
                f"{group}:{name or place} rpm={rpm} tpm={tpm}"  # a file with others neither changes these nor is bound
            )
            limiter = RateLimiter(rpm, tpm, burst=int(rpm or 1), store=self._fields["store"], name=account)
        total = fields["timeout"].total if "timeout" in fields else None
        return _Entry(group, Deployment(model, name and str(name), rate_limiter=limiter), shares, total)

    def _make_model(self, place: str, provider: str | None, name: str, fields: dict[str, Any]) -> BaseChatModel | None:
        """Return a model, without options that it cannot take; None: it cannot be made."""
        while True:
            try:
                return init_chat_model(name, model_provider=provider, **fields)
            except (InvalidInput, UnknownModel, LLMError, ValidationError) as error:
                options = [option for option in getattr(error, "options", ()) if fields.pop(option, None) is not None]
                reason = getattr(error, "message", "") or str(error)
                if isinstance(error, ValidationError):  # its text repeats what was given
                    reason = "; ".join(f"{one['loc'][0] if one['loc'] else ''}: {one['msg']}" for one in error.errors())
                self._notes.refuse(".".join((place, *options)), shorten(reason, _LONGEST_REASON))
            if not options:
                return None

    def _make_router(self, name: str, group: Sequence[_Entry]) -> ChatRouter:
        metric = next((key for key in _METRICS if any(entry.shares[key] for entry in group)), None)
        fields: dict[str, Any] = {"name": name, **self._fields}
        if any(
            self._get_behind(each) for each in (name, *(al for al, group in self._aliases.items() if group == name))
        ):
            fields["longest_wait"] = 0  # others are asked
        fields["deployments"] = [
            replace(entry.deployment, weight=entry.shares[metric] if metric else 1.0) for entry in group
        ]
        totals = [entry.total for entry in group if entry.total]
        if len(totals) == len(group):
            fields["timeout"] = max(totals) * fields.get("retry", 3)
        try:
            return ChatRouter(**fields)
        except ValidationError as error:
            raise InvalidInput(f"the group {name}: {error.errors()[0]['msg']}") from None


def _with_fallbacks(
    first: ChatRouter, others: Sequence[ChatRouter]
) -> RunnableWithFallbacks[LanguageModelInput, AIMessage]:
    return RunnableWithFallbacks(runnable=first, fallbacks=others, exceptions_to_handle=(LLMError,))


def _split_model(model: str, provider: object) -> tuple[str | None, str]:
    """Return the provider, as `init_chat_model` takes it, and the model's own name; None: it follows from the name."""
    prefix, slash, name = model.partition("/")
    if isinstance(provider, str):
        prefix, name = provider, model.removeprefix(f"{provider}/")
    elif not slash:
        return None, model
    further, _, last = name.partition("/")
    if f"{prefix}/{further}" in _PROVIDERS:
        prefix, name = f"{prefix}/{further}", last
    if prefix == "vertex_ai" and not name.startswith("gemini"):
        return "google_anthropic_vertex" if name.startswith("claude") else model, name
    return _PROVIDERS.get(prefix, prefix), name


def _read_fields(place: str, provider: str, model: str, given: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a model, taken out of what is given."""
    names = dict(_FIELDS)
    for cloud, more in _CLOUD_FIELDS.items():
        names |= more if cloud in provider else {}
    fields = {name: given.pop(key) for key, name in names.items() if given.get(key) is not None}
    fields |= {name: given.pop(name) for name in _OPTIONS if name in given}
    if str(given.pop("drop_params", False)).lower() == "true":
        fields["unsupported"] = "drop"
    if "max_in_flight" in fields:
        fields["max_in_flight"] = int(read_number(fields["max_in_flight"], f"{place}.max_parallel_requests", 1) or 1)
    if str(fields.get("credentials", "")).lstrip().startswith("{"):
        try:
            fields["credentials"] = json.loads(fields["credentials"])
        except ValueError:
            raise InvalidInput(f"{place}.vertex_credentials is no JSON, and no path") from None
    if provider == "azure" and (version := given.pop("api_version", None)) not in (None, "v1", "preview", "latest"):
        fields["default_query"] = {"api-version": version}
        base = str(fields.get("base_url") or "").rstrip("/")
        if urlsplit(base).path and "/deployments/" not in base:  # LiteLLM puts it behind any path
            fields["base_url"] = f"{base}/openai/deployments/{quote(model, safe='')}"
    total, silent = (read_number(given.pop(key, None), f"{place}.{key}") for key in ("timeout", "stream_timeout"))
    if silent := silent or total:
        of_a_stream = Timeout(first_token=silent, idle=silent)
        fields["timeout"] = (of_a_stream if total is None else Timeout(total=total).over(of_a_stream)).over(
            HTTP_TIMEOUT
        )
    return fields


def _read_redis(settings: dict[str, Any]) -> str | None:
    """Return the URL of the Redis of ``router_settings``, taken out of them; None: they have none."""
    url, host, port, password, database = (
        settings.pop(f"redis_{key}", None) for key in ("url", "host", "port", "password", "db")
    )
    if url or not host:
        return url or None
    secret = f":{quote(str(password), safe='')}@" if password else ""
    return f"redis://{secret}{host}:{port or 6379}/{database or 0}"
