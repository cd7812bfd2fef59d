"""How much fits into a model: what is known, and that what is not known is said to be so."""

import pytest

from hocket.errors import UnknownModel
from hocket.language_models import FakeListChatModel
from hocket.tokens import calculate_max_tokens, count_tokens, get_model_context_size

TABLE = {
    16385: "gpt-3.5-turbo gpt-3.5-turbo-16k gpt-3.5-turbo-0125 gpt-3.5-turbo-1106",
    8192: "gpt-4 gpt-4-0613",
    32768: "gpt-4-32k gpt-4-32k-0613",
    128000: "gpt-4-turbo gpt-4-turbo-preview gpt-4-turbo-2024-04-09 gpt-4-1106-preview gpt-4-0125-preview gpt-4o "
    "gpt-4o-2024-05-13 gpt-4o-2024-08-06 gpt-4o-mini gpt-4o-mini-2024-07-18",
    4097: "text-davinci-003",
    2048: "text-curie-001 text-babbage-001 text-ada-001 code-cushman-001",
    8000: "code-davinci-002",
}


@pytest.mark.parametrize(("model", "size"), [(name, size) for size, names in TABLE.items() for name in names.split()])
def test_sizes_are_those_of_the_models(model: str, size: int) -> None:
    """Each of OpenAI's models has the window that its documentation gives."""
    assert get_model_context_size(model) == size


def test_an_unknown_model_is_said_to_be_unknown() -> None:
    """An error that names the ways out, or the default that the caller asks for."""
    with pytest.raises(UnknownModel, match=r"context size of 'mine' is not known; pass default=.*set_profile"):
        get_model_context_size("mine")
    with pytest.raises(UnknownModel):
        calculate_max_tokens("mine", "hi")
    assert get_model_context_size("mine", default=2048) == 2048
    assert calculate_max_tokens("mine", "word " * 100, default=2048) == 2048 - 125


def test_a_model_object_tells_by_its_profile() -> None:
    """What the program said of it counts; a model that nothing is known of is unknown."""
    model = FakeListChatModel(responses=["a"], profile={"max_input_tokens": 100})
    assert (get_model_context_size(model), calculate_max_tokens(model, "word " * 8)) == (100, 90)
    with pytest.raises(UnknownModel, match="context size of FakeListChatModel"):
        get_model_context_size(FakeListChatModel(responses=["a"]))


def test_what_is_left_is_never_below_zero() -> None:
    """A text that does not fit leaves nothing, rather than a negative number that a server would refuse."""
    assert calculate_max_tokens("gpt-4", "hello") == 8192 - count_tokens("gpt-4", "hello")
    assert calculate_max_tokens("gpt-4", "hello " * 10_000) == 0
