"""Fields of a class of one's own that come from the environment."""

import pytest
from pydantic import Field, SecretStr, ValidationError

from hocket.errors import InvalidInput
from hocket.language_models import SimpleChatModel
from hocket.messages import BaseMessage
from hocket.remote import from_env, get_from_dict_or_env, get_from_env, pre_init, secret_from_env


class Example(SimpleChatModel):
    """A provider as programs write it for LangChain."""

    api_key: SecretStr = Field(default_factory=secret_from_env(["EXAMPLE_KEY", "OLD_EXAMPLE_KEY"]))
    region: str | None = Field(default_factory=from_env("EXAMPLE_REGION", default=None))

    def _call(self, messages: list[BaseMessage], *args: object, **kwargs: object) -> str:
        return self.region or "nowhere"

    @property
    def _llm_type(self) -> str:
        return "example"


def test_a_field_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first variable that is set; the key is not shown."""
    monkeypatch.setenv("OLD_EXAMPLE_KEY", "hidden")
    model = Example()
    assert (model.api_key.get_secret_value(), model.invoke("hi").text) == ("hidden", "nowhere")
    assert "hidden" not in repr(model)
    monkeypatch.setenv("EXAMPLE_KEY", "newer")
    assert Example().api_key.get_secret_value() == "newer"


def test_what_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """The variable and the argument; or what the class says."""
    for name in ("EXAMPLE_KEY", "OLD_EXAMPLE_KEY"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises((InvalidInput, ValidationError), match="set EXAMPLE_KEY or OLD_EXAMPLE_KEY in the environment"):
        Example()
    with pytest.raises(InvalidInput, match="ask Ann"):
        from_env("EXAMPLE_KEY", error_message="ask Ann")()
    with pytest.raises(InvalidInput, match="set EXAMPLE_KEY in the environment, or pass api_key="):
        get_from_env("api_key", "EXAMPLE_KEY")
    with pytest.raises(InvalidInput, match="pass a="):
        get_from_dict_or_env({}, ["a", "b"], "EXAMPLE_KEY")


class Older(SimpleChatModel):
    """A provider as programs of LangChain's first years write it."""

    example_key: str = ""

    @pre_init
    def find_key(cls, values: dict[str, object]) -> dict[str, object]:
        values["example_key"] = get_from_dict_or_env(values, "example_key", "EXAMPLE_KEY")
        return values

    def _call(self, messages: list[BaseMessage], *args: object, **kwargs: object) -> str:
        return self.example_key

    @property
    def _llm_type(self) -> str:
        return "older"


def test_a_method_finds_the_key_before_the_fields_are_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is given counts more; and a misspelt field is still refused."""
    monkeypatch.setenv("EXAMPLE_KEY", "k")
    assert Older().invoke("hi").text == "k"
    assert Older(example_key="mine").invoke("hi").text == "mine"
    with pytest.raises(ValidationError, match="exampel_key"):
        Older(exampel_key="x")
    monkeypatch.delenv("EXAMPLE_KEY")
    with pytest.raises(
        (InvalidInput, ValidationError), match="set EXAMPLE_KEY in the environment, or pass example_key="
    ):
        Older()
