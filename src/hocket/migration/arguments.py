"""Keyword arguments: those that mean the same under another name, and those that hocket's class or function does not take.

Little is listed here: services know the names that other libraries give their fields (`hocket.remote.options`), and what
a class or function takes is read off it.
"""

import inspect
import typing
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import TypeGuard, cast

from pydantic import AliasChoices, BaseModel
from typing_extensions import is_typeddict

from hocket.classic.chains import Chain
from hocket.errors.hints import arguments_instead, near_name
from hocket.migration.table import Place, load_place
from hocket.providers.openai.compatible import CompatibleProvider
from hocket.remote.options import FIELDS_INSTEAD, OTHER_FIELDS

__all__ = [
    "DEFAULT_MODELS",
    "DROPPED",
    "describe_missing",
    "find_dropped",
    "find_mismatch",
    "find_product",
    "find_target",
    "has_attribute",
    "hint_at_argument",
    "list_arguments",
    "list_fields",
    "rename_argument",
    "rename_field",
]

_DEPLOYMENT: Mapping[str, str] = dict.fromkeys(("azure_deployment", "deployment", "deployment_name"), "model")
_RENAMED: Mapping[str, Mapping[str, str]] = {
    "hocket.providers.openai.compatible.azure": _DEPLOYMENT,
    "hocket.providers.openai.compatible.deepseek": {"deepseek_api_key": "api_key"},
    "hocket.providers.openai.compatible.fireworks": {"fireworks_api_key": "api_key"},
    "hocket.providers.openai.compatible.groq": {"groq_api_key": "api_key"},
    "hocket.providers.openai.compatible.together": {"together_api_key": "api_key"},
    "hocket.providers.openai.compatible.xai": {"xai_api_key": "api_key"},
    "hocket.caches.SQLiteCache": {"database_path": "path"},
    "hocket.providers.openai.OpenAI": _DEPLOYMENT,
    "hocket.providers.openai.OpenAIEmbeddings": {**_DEPLOYMENT, "headers": "default_headers"},
    "hocket.chat_history.open_history": {"connection": "url_or_path", "connection_string": "url_or_path"},
}
"""Arguments that mean the same, of what is no service; and of services, what their own table does not know."""

_NO_BAR = "there is no bar"
_TEXTS = "texts are sent, not tokens"
_WHOLE = f"{_TEXTS}; one that is longer than the model's window is refused by the server, not cut in two"
_FOUND = "the variables of a prompt are always found in it"

DROPPED: Mapping[str, Mapping[str, str]] = {
    "hocket.classic.chains": {"verbose": "a handler in the config of a call tells what a chain does"},
    "hocket.classic.agents.AgentExecutor": {"stream_runnable": "an agent streams where it is streamed"},
    "hocket.classic.agents.create_react_agent": {"stop_sequence": "the text style stops by itself"},
    "hocket.document_loaders.DirectoryLoader": {
        "show_progress": _NO_BAR,
        "silent_errors": "write on_error='skip' for it",
        "use_multithreading": "files are read one after another",
    },
    "hocket.output_parsers.XMLOutputParser": {"parser": "one parser reads all XML, and refuses document types"},
    "hocket.prompts.FewShotPromptTemplate": {"validate_template": _FOUND},
    "hocket.prompts.FewShotPromptWithTemplates": {"validate_template": _FOUND},
    "hocket.providers.openai.OpenAIEmbeddings": {
        **dict.fromkeys(("check_embedding_ctx_length", "embedding_ctx_length"), _WHOLE),
        **dict.fromkeys(("tiktoken_enabled", "tiktoken_model_name", "allowed_special", "disallowed_special"), _TEXTS),
        "show_progress_bar": _NO_BAR,
    },
    "hocket.vectorstores.InMemoryVectorStore": {"collection_name": "each store in memory is a collection of its own"},
}
"""Arguments that are left out, of a room or of one class in it, and what that means."""

_INSTEAD_OF_CHAINS = {
    "callbacks": "write .with_config(callbacks=...) behind the chain, or give them in the config of a call"
}

_KEPT = "SQLiteVectorStore(path, embedding) keeps its documents in a file"
_STATE = "the messages so far are those of the history that each run is given: agent.invoke(message, history=...)"
_INSTEAD: Mapping[str, Mapping[str, str]] = {
    "Agent": dict.fromkeys(("aget_state", "aupdate_state", "get_state", "get_state_history", "update_state"), _STATE),
    "InMemoryVectorStore": dict.fromkeys(("dump", "load", "save_local", "load_local"), _KEPT),
}
"""Methods that a class of hocket's does not have, and what to use instead."""

DEFAULT_MODELS: Mapping[str, str | None] = {
    "hocket.providers.cohere.ChatCohere": None,
    "hocket.providers.mistral.ChatMistralAI": "mistral-small",
    "hocket.providers.openai.ChatOpenAI": "gpt-3.5-turbo",
    "hocket.providers.openai.OpenAIEmbeddings": "text-embedding-ada-002",
}
"""What a class of LangChain's asks where a program names no model, and hocket's asks none, or another; None: what the
provider says."""

_FEW = 8  # arguments that are named where none is near


def find_target(place: Place, attributes: tuple[str, ...] = ()) -> object | None:
    """Return what is called at a place: a class or function, or what the attributes behind it name; None if unknown."""
    target = load_place(place)
    if isinstance(target, CompatibleProvider) and not attributes:
        return _chat_class(target)
    for name in attributes:
        target = getattr(target, name, None)
    return target


def find_product(place: Place) -> type | None:
    """Return the class of what a call of a class or function gives; None if it is not known."""
    target = find_target(place)
    if inspect.isfunction(target):
        try:
            target = typing.get_type_hints(target).get("return")
        except NameError:  # annotated with what is imported for type checkers alone
            return None
    target = typing.get_origin(target) or target
    return target if isinstance(target, type) and target.__module__ != "builtins" else None


def list_arguments(target: object) -> frozenset[str] | None:
    """Return the names of the arguments that a class or function takes; None if it takes any, or it cannot be known.

    A class method ``from_...`` that takes any hands them on to its class.
    """
    if not callable(target):
        return None
    if not _is_model(target):
        names, is_open = _read_signature(target)
        owner = getattr(target, "__self__", None)
        is_maker = is_open and isinstance(owner, type) and getattr(target, "__name__", "").startswith("from_")
        others = list_arguments(owner) if is_maker else frozenset[str]()
        return None if others is None or (is_open and not others) else frozenset(names) | others
    init = cast("Callable[..., object]", target.__init__)
    names, is_open = _read_signature(init)
    is_own = "__init__" in vars(target)
    if target.model_config.get("extra") == "allow" or (is_open and is_own):
        return None
    return frozenset(names) if is_own else frozenset({*names, *_list_fields(target)})


def find_mismatch(target: object, positional: int, named: Collection[str]) -> str | None:
    """Return what Python would say of a call with these arguments; None if it would take them, or it cannot be known.

    Args:
        target: the class or function that is called.
        positional: how many arguments have no name.
        named: the names of the others.
    """
    if not callable(target) or _is_model(target):
        return None
    try:
        signature = inspect.signature(target, follow_wrapped=False)  # a decorator may take more than what it is around
    except (TypeError, ValueError):
        return None
    try:
        signature.bind(*[None] * positional, **dict.fromkeys(name for name in named if name in signature.parameters))
    except TypeError as error:
        return str(error)
    owner = getattr(target, "__self__", None)
    if not isinstance(owner, type) or not _read_signature(target)[1]:
        return None
    needed = [one for one in inspect.signature(owner).parameters.values() if one.default is one.empty]
    missing = [
        one.name for one in needed if one.kind is one.POSITIONAL_OR_KEYWORD and one.name not in signature.parameters
    ]
    absent = [name for name in missing if name not in named]
    return f"missing a required argument: {absent[0]!r}" if absent and not _is_model(owner) else None


def rename_argument(place: Place, target: object, name: str) -> str | None:
    """Return what an argument of LangChain's is called here, or None if it has no other name."""
    known = list_arguments(target)
    if known is None or name in known:
        return None
    renamed = {**(OTHER_FIELDS if _is_service(target) else {}), **arguments_instead(target)}
    own = _RENAMED.get(str(place), {}).get(name) or renamed.get(name)
    return own if own in known else None


def find_dropped(place: Place, target: object, name: str) -> str | None:
    """Return what it means that an argument is left out; None if it is not left out."""
    known = list_arguments(target)
    if known is None or name in known:
        return None
    return {**DROPPED.get(place.module, {}), **DROPPED.get(str(place), {})}.get(name)


def hint_at_argument(target: object, name: str) -> str | None:
    """Return what to do about an argument that is not taken; None if it is taken, or it cannot be known."""
    known = list_arguments(target)
    if known is None or name in known:
        return None
    if _is_chain(target) and name in _INSTEAD_OF_CHAINS:
        return _INSTEAD_OF_CHAINS[name]
    if words := arguments_instead(target).get(name):
        return words
    instead: Mapping[str, str] = getattr(target, "_renamed_fields", FIELDS_INSTEAD)
    if _is_service(target) and name in instead:
        return f"write {instead[name]}"
    if near := near_name(name, sorted(known)):
        return f"did you mean {near!r}? If not, leave it out"
    return f"leave it out; it takes {', '.join(sorted(known))}" if len(known) <= _FEW else "leave it out"


def describe_missing(owner: str, name: str) -> str:
    """Return what is to be said of a method that hocket's class ``owner`` does not have."""
    return f"hocket's {owner} has no {name}; {_INSTEAD.get(owner, {}).get(name, 'see what else it offers')}"


def list_fields(place: Place) -> frozenset[str]:
    """Return the names of the fields that a subclass of a class may set; none, if it is no model of pydantic's."""
    target = load_place(place)
    return frozenset(target.model_fields) if _is_model(target) else frozenset()


def rename_field(target: object, name: str) -> str | None:
    """Return what a field of a service is called here, for `configurable_fields`; None: as it was, or it is no service."""
    known = target.model_fields if _is_model(target) and _is_service(target) else {}
    own = None if name in known else OTHER_FIELDS.get(name)
    return own if own in known else None


def has_attribute(target: object, name: str) -> bool:
    """Whether an instance of a class has an attribute, as far as its class and its annotations tell."""
    if not isinstance(target, type):
        return True
    bases: tuple[type, ...] = inspect.getmro(cast("type[object]", target))
    if any("__getattr__" in vars(base) for base in bases if base is not BaseModel):  # pydantic's knows no further names
        return True
    is_annotated = any(name in getattr(base, "__annotations__", {}) for base in bases)
    return is_annotated or any(name in vars(base) or _is_set_in_init(base, name) for base in bases)


def _is_model(target: object) -> TypeGuard[type[BaseModel]]:
    return isinstance(target, type) and issubclass(target, BaseModel)


def _is_chain(target: object) -> bool:
    """Whether a class, or what a class method of one makes, is a chain."""
    kind = getattr(target, "__self__", target)
    return isinstance(kind, type) and issubclass(kind, Chain)


def _is_service(target: object) -> bool:
    return hasattr(target, "_renamed_fields")


def _chat_class(provider: CompatibleProvider) -> object:
    return typing.get_type_hints(type(provider).__call__)["return"]


def _list_fields(kind: type[BaseModel]) -> Iterator[str]:
    """Yield the names by which a class takes its fields."""
    for name, one in kind.model_fields.items():
        alias = one.validation_alias
        yield name
        yield from (c for c in (alias.choices if isinstance(alias, AliasChoices) else [alias]) if isinstance(c, str))


def _read_signature(function: Callable[..., object]) -> tuple[list[str], bool]:
    """Return the names of a function's parameters, and whether it takes any others."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return [], True
    names = [
        one.name
        for one in parameters
        if one.name != "self" and one.kind in (one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY)
    ]
    rest = next((one for one in parameters if one.kind is one.VAR_KEYWORD), None)
    if rest is None:
        return names, False
    options = getattr(rest.annotation, "__args__", ())  # **options: Unpack[SomeTypedDict]
    if options and is_typeddict(options[0]):  # and not typing's, which does not know those that pydantic wants
        return [*names, *options[0].__annotations__], False
    return names, True


def _is_set_in_init(kind: type, name: str) -> bool:
    """Whether the constructor of a class assigns ``self.name``."""
    code = getattr(vars(kind).get("__init__"), "__code__", None)
    return code is not None and name in code.co_names
