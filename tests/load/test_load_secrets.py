"""A secret leaves an object only as the name of the variable that holds it."""

import traceback
from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict, Field, SecretBytes, SecretStr, field_validator

from hocket import ChatOpenAI
from hocket.errors import LoadError
from hocket.load import Serializable, dumpd, dumps, load, loads

CANARY = "sk-canary-0123456789"


class Loadable(Serializable):
    """A base that opts in."""

    @classmethod
    def is_lc_serializable(cls) -> bool:
        return True


class Holder(Loadable):
    """Holds anything, also in extras."""

    model_config = ConfigDict(extra="allow")

    content: Any = None


class SecretiveModel(Loadable):
    """A model with secrets of every kind."""

    model_config = ConfigDict(extra="forbid")

    model_name: str = Field(default="small", alias="model")
    api_key: SecretStr | None = None
    token: str | None = Field(default=None, alias="access_token")
    headers: dict[str, Any] = Field(default_factory=dict)
    temperature: float = 1.0

    @property
    def lc_secrets(self) -> dict[str, str]:
        return {"access_token": "PRETEND_TOKEN", "headers.authorization": "PRETEND_HEADER"}

    @field_validator("api_key")
    @classmethod
    def _refuse_bad(cls, value: SecretStr | None) -> SecretStr | None:
        if value is not None and value.get_secret_value().startswith("bad"):
            raise ValueError(f"{value.get_secret_value()} is a bad key")
        return value


class Settings(BaseModel):
    """A pydantic model that is not Serializable, with a secret in clear."""

    password: str = CANARY


class Careless:
    """An object that shows its secret."""

    def __repr__(self) -> str:
        return CANARY


def secretive_model() -> SecretiveModel:
    """A model with a secret in every place that can declare one."""
    return SecretiveModel(
        api_key=SecretStr(CANARY),
        access_token=CANARY,
        headers={"authorization": CANARY, "accept": "json"},
    )


def test_secrets_become_references() -> None:
    """A secret field is written under its variable: its own name in capitals, or the declared one, by alias or path."""
    assert dumpd(secretive_model())["kwargs"] == {
        "api_key": {"lc": 1, "type": "secret", "id": ["API_KEY"]},
        "token": {"lc": 1, "type": "secret", "id": ["PRETEND_TOKEN"]},
        "headers": {"authorization": {"lc": 1, "type": "secret", "id": ["PRETEND_HEADER"]}, "accept": "json"},
    }


def test_the_object_keeps_its_secrets() -> None:
    """Dumping changes nothing in the object."""
    model = secretive_model()

    dumps(model)

    assert model.headers == {"authorization": CANARY, "accept": "json"}
    assert model == secretive_model()


@pytest.mark.parametrize(
    "obj",
    [
        secretive_model(),
        Holder(content={"lc": SecretStr(CANARY), 1: {SecretStr(CANARY)}}),
        Holder.model_validate({"content": [Settings(), Careless(), Careless], "extra": SecretStr(CANARY)}),
        {"a": [SecretBytes(CANARY.encode())], SecretStr(CANARY): (SecretStr(CANARY),)},
        Holder(content=[secretive_model(), Holder(content={"lc": secretive_model().to_json()})]),
        Settings(),
        Careless(),
    ],
)
def test_no_secret_is_ever_written(obj: Any) -> None:
    """Wherever a secret hides, neither the dump nor the node shows it."""
    assert CANARY not in dumps(obj)
    assert CANARY not in repr(dumpd(obj))


def test_no_secret_in_repr() -> None:
    """A secret that is a plain string is masked in the object's repr and str."""
    assert CANARY not in repr(secretive_model()) + str(secretive_model())
    assert "accept" in repr(secretive_model())


def test_a_subclass_cannot_forget_the_secrets_of_its_base() -> None:
    """Declarations add up, also when a subclass does not call ``super()``; the nearest one names the variable."""

    class Child(SecretiveModel):
        other: str = ""

        @property
        def lc_secrets(self) -> dict[str, str]:
            return {"other": "OTHER", "api_key": "CHILD_KEY"}

    kwargs = dumpd(Child(access_token=CANARY, other=CANARY, api_key=SecretStr(CANARY)))["kwargs"]

    assert {name: node["id"] for name, node in kwargs.items()} == {
        "token": ["PRETEND_TOKEN"],
        "other": ["OTHER"],
        "api_key": ["CHILD_KEY"],
    }


def test_attributes_are_written_and_hidden() -> None:
    """``lc_attributes`` become kwargs, and a secret among them a reference."""

    class Extended(Loadable):
        model_config = ConfigDict(extra="allow")

        @property
        def lc_attributes(self) -> dict[str, Any]:
            return {"region": "eu", "password": CANARY}

        @property
        def lc_secrets(self) -> dict[str, str]:
            return {"password": "PASSWORD"}

    assert dumpd(Extended())["kwargs"] == {
        "region": "eu",
        "password": {"lc": 1, "type": "secret", "id": ["PASSWORD"]},
    }


def test_secrets_come_from_the_map_then_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """The map comes first, the environment only where the caller allows it, and a miss names the variable."""
    written = dumps(secretive_model())
    map_of_two = {"API_KEY": CANARY, "PRETEND_TOKEN": CANARY}
    monkeypatch.setenv("PRETEND_HEADER", CANARY)
    monkeypatch.setenv("API_KEY", "not this one")

    with pytest.raises(LoadError, match=r"'PRETEND_HEADER'.*secrets_map, or pass secrets_from_env=True"):
        loads(written, allowed_objects=[SecretiveModel], secrets_map=map_of_two)
    assert (
        loads(written, allowed_objects=[SecretiveModel], secrets_map=map_of_two, secrets_from_env=True)
        == secretive_model()
    )
    monkeypatch.delenv("PRETEND_HEADER")
    with pytest.raises(LoadError, match=r"'PRETEND_HEADER'.*secrets_map, or set it in the environment"):
        loads(written, allowed_objects=[SecretiveModel], secrets_map=map_of_two, secrets_from_env=True)


@pytest.mark.parametrize("secret", [f"bad-{CANARY}", ""])
def test_no_secret_in_errors(secret: str) -> None:
    """An object that is refused shows no secret in the error, its cause or context, nor anywhere in the traceback."""
    node = dumpd(SecretiveModel(api_key=SecretStr(CANARY)))
    node["kwargs"]["temperature"] = {"lc": 1, "type": "secret", "id": ["API_KEY"]}

    with pytest.raises(LoadError, match="temperature") as caught:
        load(node, allowed_objects=[SecretiveModel], secrets_map={"API_KEY": secret})

    error: BaseException | None = caught.value
    assert CANARY not in "".join(traceback.format_exception(caught.value))
    while error is not None:
        assert CANARY not in repr(error) + str(error)
        error = error.__cause__ or error.__context__


def test_no_secret_in_errors_of_an_own_init() -> None:
    """The same holds where a class raises something else than a validation error."""

    class Loud(Loadable):
        key: str = ""

        def __init__(self, **kwargs: Any) -> None:
            raise OSError(f"cannot reach {kwargs}")

    node = {"lc": 1, "type": "constructor", "id": Loud.lc_id(), "kwargs": {"key": "plain"}}
    with pytest.raises(LoadError, match="OSError: cannot reach") as caught:
        load(node, allowed_objects=[Loud])
    assert isinstance(caught.value.__cause__, OSError)

    node["kwargs"] = {"key": {"lc": 1, "type": "secret", "id": ["K"]}}
    with pytest.raises(LoadError, match="OSError: cannot reach") as caught:
        load(node, allowed_objects=[Loud], secrets_map={"K": CANARY})
    assert CANARY not in str(caught.value)
    assert caught.value.__cause__ is None and caught.value.__context__ is None


@pytest.mark.parametrize(("field", "value"), [("proxy", "http://proxy.test:8080"), ("verify", False)])
def test_whom_to_trust_on_the_way_is_not_taken_from_data(field: str, value: Any) -> None:
    """Data from strangers sets no proxy and takes no certificate for good; what is dumped says nothing of either."""
    model = ChatOpenAI(model="m", api_key="k", base_url="http://m.test/v1", **{field: value})
    written = dumpd(model)
    assert field not in written["kwargs"]
    assert getattr(load(written, secrets_map={"API_KEY": "k"}), field) in (None, True)
    written["kwargs"][field] = value
    with pytest.raises(LoadError, match=f"has {field}, which data may not set"):
        load(written, secrets_map={"API_KEY": "k"})
