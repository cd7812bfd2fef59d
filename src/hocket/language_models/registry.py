"""A model by name.

Providers are found without being imported. Packages announce theirs as entry points; their names are read when this
module is imported, since that looks at the disk, which has no place in an event loop. A provider's own module is
imported when the first of its models is made. A program may register more, which go before those of the same name.
"""

import difflib
import re
from collections.abc import Callable, Iterator
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from hocket.errors import InvalidInput, MissingDependency, UnknownModel
from hocket.language_models.chat_models import BaseChatModel

__all__ = ["init_chat_model", "list_providers", "load_provider", "register_provider", "resolve_model_name"]

_GROUP = "hocket.providers"

# Other names of providers, where none is called so: LangChain's keys, what people call them, and what stands in for one.
_ALIASES = {
    "aws": "bedrock",
    "amazon_bedrock": "bedrock",
    "aws_bedrock": "bedrock",
    "bedrock_converse": "bedrock",
    "azure_openai": "azure",
    "claude": "anthropic",
    "fireworks_ai": "fireworks",
    "gemini": "google",
    "google_genai": "google",
    "grok": "xai",
    "llama_cpp": "llamacpp",
    "lm_studio": "lmstudio",
    "mistralai": "mistral",
    "together_ai": "together",
    "vertex": "google_vertexai",
    "vertexai": "google_vertexai",
}

# How a model's own name tells its provider, where it is left out. Also of providers that are not installed: to
# say which one is missing helps more than to list those that are there.
_FAMILIES = (
    (r"(ft:)?(gpt-|chatgpt|o[134](-|$))", "openai"),
    (r"claude", "anthropic"),
    (r"gemini", "google"),
    (r"mistral|mixtral|ministral|codestral|devstral|magistral|pixtral", "mistral"),
    (r"command", "cohere"),
    (r"deepseek", "deepseek"),
    (r"grok", "xai"),
    (r"sonar", "perplexity"),
    (r"accounts/fireworks/", "fireworks"),
    (r"(amazon|anthropic|meta)\.|(us|us-gov|eu|apac|jp|au|ca|global)\.[a-z0-9]+\.|arn:aws[a-z-]*:bedrock:", "bedrock"),
    (r".*\.gguf$", "local"),
)


def _make_fake(model: str = "fake response", **options: Any) -> BaseChatModel:
    """Return a model that always answers its own name."""
    from hocket.language_models.fakes import FakeListChatModel

    fields: dict[str, Any] = {"responses": [model], **options}
    return FakeListChatModel(**fields)


def _normalise(name: str) -> str:
    return name.strip().lower().replace("-", "_")


def _find_entry_points() -> Iterator[tuple[str, EntryPoint]]:
    """Yield the installed providers, hocket's own last: no other package takes their names."""
    for point in sorted(entry_points(group=_GROUP), key=lambda point: point.value.startswith("hocket.")):
        yield _normalise(point.name), point


_installed = dict(_find_entry_points())
_registered: dict[str, Callable[..., BaseChatModel]] = {"fake": _make_fake}


def register_provider(name: str, factory: Callable[..., BaseChatModel]) -> None:
    """Make a provider known to this process, in place of one of the same name.

    A package announces its provider to all of them, without being imported, by an entry point of the group
    ``hocket.providers``: ``name = "module:factory"``.

    Args:
        name: what comes before the colon: letters, digits and ``_``. ``-`` counts as ``_``.
        factory: a model class or a function. It gets ``model=``, unless only the provider was named, and the options.

    Raises:
        InvalidInput: ``name`` is not such a name.
    """
    if not re.fullmatch(r"\w+", _normalise(name)):
        raise InvalidInput(f"a provider's name is made of letters, digits, '_' and '-', not {name!r}")
    _registered[_normalise(name)] = factory


def list_providers() -> list[str]:
    """Return the names of the providers that exist, sorted. None of them is imported."""
    return sorted({*_installed, *_registered})


def load_provider(name: str) -> Callable[..., BaseChatModel]:
    """Return what makes the models of a provider, imported now.

    Raises:
        UnknownModel: no provider of this name exists; the message lists those that do.
        MissingDependency: a package that the provider needs is not installed.
    """
    key = _find_provider(name)
    if key is None:
        raise _make_unknown_model(f"no provider is called {name!r}", name)
    if key in _registered:
        return _registered[key]
    point = _installed[key]
    try:
        return point.load()  # type: ignore[no-any-return]
    except MissingDependency:
        raise
    except ImportError as error:
        raise MissingDependency(f"the provider {key!r} cannot be loaded: {error}{_remedy(key, point)}") from error


def init_chat_model(model: str, *, model_provider: str | None = None, **options: Any) -> BaseChatModel:
    """Return the chat model of this name.

        init_chat_model("openai:gpt-5.2", temperature=0)
        init_chat_model("qwen3:8b", base_url="http://localhost:11434/v1")

    The text before the first colon is the provider if there is one of that name; otherwise the colon belongs to the
    model. ``provider/model`` is understood, too, unless ``base_url`` is given: servers have models of such names. Where no
    provider is named it is ``openai`` if ``base_url`` is given, whose format servers speak, and else follows from the
    beginning of the name, as in LangChain.

    Args:
        model: ``provider:model``, ``provider`` for its default model, or a model's own name. "local" is the embedded
            model, "local:PATH" a GGUF file of one's own, "fake:TEXT" a model that always answers TEXT.
        model_provider: the provider; then ``model`` is used unchanged.
        options: fields of the model.

    Raises:
        UnknownModel: no such provider exists, or none is known for the name; the message lists those that exist.
        MissingDependency: a package of the provider is not installed; the message names the command that installs it.
        InvalidInput: ``model`` is no text.

    Examples:
        >>> from hocket import init_chat_model
        >>> init_chat_model("fake:Hello.").invoke("Hi").text
        'Hello.'
    """
    if not isinstance(model, str):  # pyright: ignore[reportUnnecessaryIsInstance]  # a caller's mistake
        raise InvalidInput(f"a model is named by a text such as 'openai:gpt-5.2', not by {type(model).__name__}")
    if model_provider:
        provider, name = model_provider, model
    else:
        provider, name = _split(model, served=options.get("base_url") is not None)
    return load_provider(provider)(**({"model": name} if name else {}), **options)


def resolve_model_name(model: str, *, served: bool) -> str:
    """Return the name with its provider in front, under the name that the provider has here: ``openai:gpt-5.2``.

    Args:
        model: as `init_chat_model` takes it.
        served: whether it comes with a server's address.

    Raises:
        UnknownModel: no such provider exists, or none is known for the name.
    """
    provider, name = _split(model, served=served)
    key = _find_provider(provider) or provider
    return f"{key}:{name}" if name else key


def _split(model: str, *, served: bool) -> tuple[str, str]:
    """Return the provider and the model's own name; the latter is empty where only the provider is named."""
    for separator in ":" if served else ":/":
        provider, found, name = model.partition(separator)
        if found and _find_provider(provider):
            return provider, name
    if _find_provider(model):
        return model, ""
    if served:
        return "openai", model
    family = next((provider for pattern, provider in _FAMILIES if re.match(pattern, model.lower())), None)
    if family is None:
        prefix, colon, _ = model.partition(":")
        if colon:
            raise _make_unknown_model(f"no provider is called {prefix!r}", prefix)
        raise _make_unknown_model(
            f"no provider is known for {model!r}; put one before it, as in 'openai:{model}'", model
        )
    if _find_provider(family) is None:
        raise _make_unknown_model(
            f"{model!r} is a model of {family!r}, for which hocket has no provider here; where a server offers it in "
            "OpenAI's format, give base_url=..."
        )
    return family, model


def _find_provider(name: str) -> str | None:
    """Return the name under which a provider exists, or None."""
    key: str | None = _normalise(name)
    while key is not None and key not in _registered and key not in _installed:
        key = _ALIASES.get(key)
    return key


def _make_unknown_model(what: str, name: str = "") -> UnknownModel:
    names = list_providers()
    near = difflib.get_close_matches(_normalise(name), names)
    hint = f"; did you mean {' or '.join(near)}?" if near else ""
    return UnknownModel(f"{what}{hint}; there are: {', '.join([*near, *(one for one in names if one not in near)])}")


def _remedy(key: str, point: EntryPoint) -> str:
    """Return the way out, where the package that announces a provider has an extra of its name."""
    package = point.dist
    if package is None or key not in map(_normalise, package.metadata.get_all("Provides-Extra") or ()):
        return ""
    return f"; `pip install {package.name}[{key}]` brings what it needs"
