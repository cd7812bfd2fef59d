"""What a caller says about a call: checked, and merged by rule."""

from typing import Any
from uuid import uuid4

import pytest

from hocket.callbacks import BaseCallbackHandler, CallbackManager
from hocket.errors import InvalidInput
from hocket.runnables import RunnableConfig, ensure_config, get_config_list, merge_configs


def test_a_config_is_taken_as_it_is() -> None:
    """BCM-18: every key of LangChain's config is known; nothing, and an empty one, are a config."""
    config: RunnableConfig = {
        "tags": ["t"],
        "metadata": {"m": 1},
        "callbacks": [],
        "run_name": "n",
        "max_concurrency": 3,
        "recursion_limit": 9,
        "configurable": {"thread_id": 1},
        "run_id": uuid4(),
    }
    assert ensure_config(config) == config
    assert ensure_config(None) == ensure_config({}) == {}


@pytest.mark.parametrize(
    ("config", "why"),
    [
        ({"max_concurency": 1}, "'max_concurency'.*did you mean 'max_concurrency'"),
        ({"thread_id": 1}, "'thread_id'.*configurable"),
        ({1: 1}, "unknown key 1"),
        ([("tags", [])], "list"),
        (7, "int"),
    ],
    ids=repr,
)
def test_an_unknown_key_is_refused(config: Any, why: str) -> None:
    """BCM-18: where LangChain moves it to ``configurable``, and a typo does nothing."""
    with pytest.raises(InvalidInput, match=why):
        ensure_config(config)
    with pytest.raises(InvalidInput, match=why):
        merge_configs(None, config)


@pytest.mark.parametrize(
    ("config", "why"),
    [
        ({"tags": "abc"}, "tags in config is str 'abc'; it must be a list"),
        ({"metadata": ["a"]}, "metadata in config is list.*mapping"),
        ({"run_id": "abc"}, "run_id in config is str 'abc'; it must be a uuid.UUID"),
        ({"run_name": 7}, "run_name.*text"),
        ({"max_concurrency": "3"}, "max_concurrency.*whole number"),
        ({"max_concurrency": 2.5}, "max_concurrency.*whole number"),
    ],
    ids=repr,
)
def test_a_value_of_the_wrong_type_is_refused(config: Any, why: str) -> None:
    """BCM-18: a text given for a list of tags would be read letter by letter; None says nothing."""
    with pytest.raises(InvalidInput, match=why):
        ensure_config(config)
    assert ensure_config(dict.fromkeys(config))


def test_configs_are_merged_by_rule() -> None:
    """Tags are joined, each once and in order; metadata and configurable merged; of the rest the later wins."""
    first: RunnableConfig = {
        "tags": ["a", "b"],
        "metadata": {"x": 1, "y": 1},
        "configurable": {"t": 1},
        "run_name": "first",
        "max_concurrency": 1,
    }
    second: RunnableConfig = {"tags": ["b", "c"], "metadata": {"y": 2}, "configurable": {"u": 2}, "run_name": "second"}
    assert merge_configs(first, None, second) == {
        "tags": ["a", "b", "c"],
        "metadata": {"x": 1, "y": 2},
        "configurable": {"t": 1, "u": 2},
        "run_name": "second",
        "max_concurrency": 1,
    }
    assert first["tags"] == ["a", "b"]
    assert first["metadata"] == {"x": 1, "y": 1}


def test_none_replaces_nothing() -> None:
    """A key that is None says nothing."""
    assert merge_configs({"run_name": "n", "callbacks": []}, {"run_name": None, "callbacks": None}) == {  # type: ignore[dict-item]
        "run_name": "n",
        "callbacks": [],
    }


def test_callbacks_are_joined_in_order() -> None:
    """Lists and managers in any mixture: every handler once, and no manager is changed."""
    a, b, c = BaseCallbackHandler(), BaseCallbackHandler(), BaseCallbackHandler()
    assert merge_configs({"callbacks": [a, b]}, {"callbacks": [b, c]})["callbacks"] == [a, b, c]
    manager = CallbackManager(handlers=[a], inheritable_handlers=[a])
    for one, other in (([b], manager), (manager, [b]), (manager, CallbackManager(handlers=[b]))):
        merged: Any = merge_configs({"callbacks": one}, {"callbacks": other})["callbacks"]  # type: ignore[typeddict-item]
        assert set(merged.handlers) == {a, b}
    assert manager.handlers == [a]


def test_a_config_for_each_of_several_inputs() -> None:
    """BCM-10: one config is repeated, its run id for the first alone; a list must be as long as the inputs."""
    run_id = uuid4()
    assert get_config_list({"tags": ["t"], "run_id": run_id}, 3) == [
        {"tags": ["t"], "run_id": run_id},
        {"tags": ["t"]},
        {"tags": ["t"]},
    ]
    assert get_config_list([{"tags": ["1"]}, {}], 2) == [{"tags": ["1"]}, {}]
    assert get_config_list(None, 2) == [{}, {}]
    with pytest.raises(InvalidInput, match="1 for 2"):
        get_config_list([{}], 2)
    with pytest.raises(InvalidInput, match="unknown key"):
        get_config_list([{"tag": []}, {}], 2)
