"""A function as an agent's model: no handler hears of it, and its usage counts all the same, once."""

from hocket import AIMessage, FakeListChatModel, create_agent
from hocket.agents import AgentLimits
from hocket.messages import UsageMetadata
from hocket.runnables import RunnableLambda

USAGE: UsageMetadata = {"input_tokens": 900, "output_tokens": 100, "total_tokens": 1_000}


def test_its_usage_counts_once() -> None:
    result = create_agent(RunnableLambda(lambda _: AIMessage("Yes.", usage_metadata=USAGE))).invoke("Hello.")
    assert (result.usage["total_tokens"], result.usage_unknown) == (1_000, 0)


def test_a_reply_without_usage_is_unknown() -> None:
    result = create_agent(RunnableLambda(lambda _: AIMessage("Yes."))).invoke("Hello.")
    assert (result.usage["total_tokens"], result.usage_unknown) == (0, 1)


def test_a_model_that_it_asks_is_not_counted_twice() -> None:
    model = FakeListChatModel(responses=["Yes."])
    result = create_agent(RunnableLambda(model.invoke)).invoke("Hello.")
    assert result.usage_unknown == 1, "the fake reports no usage, and was heard"


def test_the_limit_on_tokens_strikes() -> None:
    agent = create_agent(
        RunnableLambda(lambda _: AIMessage("", usage_metadata=USAGE)), limits=AgentLimits(tokens=2_500)
    )
    result = agent.invoke("Hello.")
    assert (result.stop, result.model_calls) == ("tokens", 2)
