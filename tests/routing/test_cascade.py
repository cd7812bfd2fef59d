"""A cheap model first: whose answer it is, what is shown, and what is on the bill."""

import pickle
from dataclasses import dataclass
from functools import partial
from types import FunctionType
from typing import Any

import pytest

from hocket import FakeListChatModel, ScriptedChatModel, Turn, create_agent
from hocket._pipeline.cache_key import LocalKey
from hocket._runtime import clock
from hocket.budgets import Budget, spending
from hocket.caches import InMemoryCache
from hocket.callbacks import BaseCallbackHandler
from hocket.errors import AuthenticationError, BudgetExceeded, ProviderUnavailable, TotalTimeout
from hocket.ledger import CallbackLedger, LedgerEntry
from hocket.messages import AIMessage
from hocket.rate_limiters import RateLimiter
from hocket.retries import RetryPolicy
from hocket.routing import ChatCascade, ChatRouter, Deployment
from hocket.testing import virtual_clock
from tests.kit.models import hook_model, tool_model

pytestmark = pytest.mark.both_loops


def is_sure(reply: AIMessage) -> bool:
    return "sure" in reply.text


def has_word(word: str, reply: AIMessage) -> bool:
    return word in reply.text


@dataclass
class Words:
    word: str

    def __call__(self, reply: AIMessage) -> bool:
        return self.word in reply.text


def used(tokens: int) -> Any:
    return {"input_tokens": tokens, "output_tokens": 1, "total_tokens": tokens + 1}


def cascade(*models: Any, **fields: Any) -> ChatCascade:
    return ChatCascade(models=models, **{"accept": is_sure, **fields})


async def test_the_first_that_is_accepted_answers():
    cheap = ScriptedChatModel(script=[Turn(text="sure", usage=used(10)), Turn(text="hm", usage=used(20))])
    dear = ScriptedChatModel(script=[Turn(text="yes", usage=used(30))])
    model = cascade(cheap, dear)
    first, second = await model.ainvoke("a"), await model.ainvoke("b")
    assert (first.text, second.text) == ("sure", "yes")
    assert [step["accepted"] for step in first.response_metadata["cascade"]] == [True]
    assert second.response_metadata["cascade"] == [
        {"model": "scripted-chat-model", "accepted": False, "usage_metadata": used(20)},
        {"model": "scripted-chat-model", "accepted": True, "usage_metadata": used(30)},
    ]
    assert second.usage_metadata == used(30)


async def test_a_check_may_be_async_and_its_error_ends_the_call():
    async def check(reply: AIMessage) -> bool:
        if reply.text == "bad":
            raise ZeroDivisionError("mine")
        return False

    assert (await cascade(hook_model("a"), hook_model("b"), accept=check).ainvoke("hi")).text == "b"
    with pytest.raises(ZeroDivisionError, match="mine"):
        await cascade(hook_model("bad"), hook_model("b"), accept=check).ainvoke("hi")


async def test_nothing_is_shown_that_is_not_accepted():
    """A checked answer comes in its own chunks, when it is whole; the last model's as it comes."""
    seen: list[str] = []

    class Watch(BaseCallbackHandler):
        def on_llm_new_token(self, token: str, **kwargs: Any) -> None:
            seen.append(token)

    script = [Turn(text=["su", "re"], pause=1), Turn(text=["h", "m"], pause=1)]
    cheap, dear = ScriptedChatModel(script=script), ScriptedChatModel(script=[Turn(text=["y", "es"], pause=1)])
    model = cascade(cheap, dear)
    with virtual_clock():
        for expected, times in ((["su", "re"], [2, 2]), (["y", "es"], [2, 3])):
            began, texts, came = clock.current().now(), [], []
            async for chunk in model.astream("hi", {"callbacks": [Watch()]}):
                if chunk.text:
                    texts.append(chunk.text)
                    came.append(clock.current().now() - began)
            assert (texts, came) == (expected, times)
    assert [text for text in seen if text] == ["su", "re", "y", "es"]


@pytest.mark.parametrize("hook", ["stream", "astream"])
async def test_handlers_see_no_token_that_is_not_accepted(hook: str):
    """Also those of models that can only stream, when the answer is wanted whole; a retry begins the answer again."""
    seen: list[str] = []

    class Watch(BaseCallbackHandler):
        def on_llm_new_token(self, token: str, **kwargs: Any) -> None:
            seen.append(token)

    def break_off(call: Any) -> Any:
        yield "su"
        if len(flaky.requests) == 1:
            raise ProviderUnavailable("no", retryable=True)
        yield "re"

    flaky = hook_model(break_off, hook, retry=RetryPolicy(max_attempts=2, first_pause=0))
    model = cascade(hook_model(["h", "m"], hook), flaky, hook_model("never", hook))
    reply = await model.ainvoke("hi", {"callbacks": [Watch()]})
    assert (reply.text, [step["accepted"] for step in reply.response_metadata["cascade"]]) == ("sure", [False, True])
    assert [text for text in seen if text] == ["su", "re"]
    seen.clear()
    flaky.requests.clear()
    pieces = [chunk.text async for chunk in model.astream("hi", {"callbacks": [Watch()]})]
    assert [text for text in pieces if text] == ["su", "re"] == [text for text in seen if text]


async def test_a_step_that_fails_is_not_accepted():
    """After its own retries; a budget that is used up ends the call."""
    failing = hook_model(ProviderUnavailable("no", retryable=True), retry=RetryPolicy(max_attempts=2, first_pause=0))
    reply = await cascade(failing, hook_model("yes")).ainvoke("hi")
    assert (reply.text, len(failing.requests)) == ("yes", 2)
    assert reply.response_metadata["cascade"][0]["usage_metadata"] is None
    with pytest.raises(AuthenticationError):
        await cascade(failing, hook_model(AuthenticationError("no"))).ainvoke("hi")
    with pytest.raises(BudgetExceeded):
        await cascade(hook_model("sure"), hook_model("yes"), budget=Budget(tokens=1)).ainvoke("hi", max_tokens=5)


async def test_one_deadline_for_all():
    async def hang(call: Any) -> Any:
        await clock.current().sleep(1000)

    with virtual_clock():
        began = clock.current().now()
        assert (await cascade(hook_model(hang, timeout=5), hook_model("yes")).ainvoke("hi")).text == "yes"
        assert clock.current().now() - began == 5
        with pytest.raises(TotalTimeout, match="longer than 8 s"):
            await cascade(hook_model(hang, timeout=5), hook_model(hang)).ainvoke("hi", timeout=8)
        assert clock.current().now() - began == 13


async def test_all_steps_are_on_the_bill():
    entries: list[LedgerEntry] = []
    ledger = CallbackLedger(entries.append)
    cheap = ScriptedChatModel(script=[Turn(text="hm", usage=used(20))])
    dear = ScriptedChatModel(script=[Turn(text="yes", usage=used(30))])
    with spending(tokens=1000) as bill:
        await cascade(cheap, dear, ledger=ledger).ainvoke("hi", max_tokens=5)
    await ledger.aflush()
    assert [entry.input_tokens for entry in entries] == [20, 30]
    assert bill.tokens == 52


async def test_it_is_cached_once_and_keyed_by_its_models():
    cheap, dear = hook_model("hm"), hook_model("yes")
    cache = InMemoryCache()
    model = cascade(cheap, dear, cache=cache)
    assert [(await model.ainvoke("hi")).text for _ in range(2)] == ["yes", "yes"]
    other = cascade(cheap, hook_model("no"), cache=cache, accept=lambda reply: True)
    assert (await other.ainvoke("hi")).text == "hm"


def make_check(word: str) -> Any:
    def check(reply: AIMessage) -> bool:
        return word in reply.text

    return check


def rewrite(check: Any, word: str) -> Any:
    """Return the same function, as the next version of its program has it."""
    code = check.__code__
    consts = tuple(word if one == "sure" else one for one in code.co_consts)
    changed = FunctionType(code.replace(co_consts=consts), check.__globals__)
    changed.__qualname__, changed.__module__ = check.__qualname__, check.__module__
    return changed


def test_checks_of_one_name_are_two():
    """Told apart are inner functions, lambdas, versions of a function, and what it is bound to; of an inner one no other
    process makes the same key.
    """
    models = hook_model("hm"), hook_model("yes")

    def key(accept: Any) -> str:
        return cascade(*models, accept=accept)._get_llm_string()

    checks = [make_check("a"), make_check("b"), lambda reply: True, lambda reply: False]
    checks += [
        is_sure,
        rewrite(is_sure, "certain"),
        partial(has_word, "a"),
        partial(has_word, "b"),
        Words("a"),
        Words("b"),
    ]
    keys = [key(check) for check in checks]
    assert len({*keys}) == len(checks)
    assert [key(check) for check in checks] == keys
    assert [isinstance(one, LocalKey) for one in keys] == [True] * 4 + [False] * 6


async def test_tools_agents_and_routers():
    calls = [{"name": "look", "args": {}, "id": "1", "type": "tool_call"}]

    def look() -> str:
        """Look."""
        return "found"

    def answer(call: Any) -> Any:
        return "done" if call.input[-1].type == "tool" else AIMessage("", tool_calls=calls)

    router = ChatRouter(deployments=[Deployment(tool_model("hm"), name="a")])
    model = cascade(router, tool_model(answer))
    result = await create_agent(model, [look]).ainvoke("go")
    assert result.output == "done"
    nested = ChatRouter(deployments=[Deployment(cascade(hook_model("hm"), hook_model("yes")), name="both")])
    reply = await nested.ainvoke("hi")
    assert (reply.text, reply.response_metadata["deployment"]) == ("yes", "both")
    assert len(reply.response_metadata["cascade"]) == 2


def test_sync_verbs_and_pickling():
    model = cascade(FakeListChatModel(responses=["hm"]), FakeListChatModel(responses=["yes"]))
    assert model.invoke("hi").text == "yes"
    assert "".join(chunk.text for chunk in model.stream("hi")) == "yes"
    assert pickle.loads(pickle.dumps(model)).invoke("hi").text == "yes"


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"models": ["fake:a"]}, "two at least"),
        ({"models": "openai:gpt-5.2"}, "two at least"),
        ({"models": ["fake:a", 7]}, "BaseChatModel"),
        ({"models": ["fake:a", "fake:b"], "accept": 7}, "callable"),
        ({"models": ["fake:a", "fake:b"], "rate_limiter": RateLimiter(max_in_flight=1)}, "no account"),
    ],
)
def test_bad_input_is_refused(fields: Any, words: str):
    with pytest.raises(ValueError, match=words):
        ChatCascade(**{"accept": is_sure, **fields})
