"""Personal data leave neither to the model nor, if so wanted, from it; what is stored stays as it was said."""

import re
from collections.abc import Iterable
from typing import Any

import anyio.lowlevel
import pytest
from pydantic import BaseModel

from hocket import ScriptedChatModel, Turn
from hocket.agents import AgentLimits, AgentMiddleware, ModelRequest, PIIMiddleware, Resume, ToolRetryMiddleware
from hocket.chat_history import InMemoryChatMessageHistory
from hocket.errors import ConnectionFailed, ContentFiltered, InvalidInput
from hocket.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from hocket.testing import virtual_clock
from hocket.tools import tool
from tests.agents.conftest import MakeAgent, call

MAIL, HIDDEN = "ada@example.com", "[REDACTED_EMAIL]"
CARD = "4111 1111 1111 1111"


@tool
def look_up(who: str, number: object = None) -> str:
    """Look somebody up."""
    return f"{who}: {MAIL}"


async def send(messages: list[BaseMessage], *kinds: Any, **options: Any) -> list[BaseMessage]:
    """Return what a model is sent of a conversation."""
    sent: list[BaseMessage] = []

    async def ask(request: ModelRequest) -> AIMessage:
        await anyio.lowlevel.checkpoint()
        sent.extend(request.messages)
        return AIMessage("Fine.")

    request = ModelRequest(model=ScriptedChatModel(script=[]), messages=messages)
    await PIIMiddleware(*(kinds or ("email",)), **options).wrap_model_call(request, ask)
    return sent


async def test_the_model_is_sent_neither_words_nor_results_with_it(make_agent: MakeAgent):
    """The history has all as it was, and the results of a later run, too, are taken out again when they are sent."""
    history = InMemoryChatMessageHistory()
    script = [[call("look_up", who="Ada")], "Done.", "Again."]
    agent, model = make_agent(script, [look_up], middleware=[PIIMiddleware("email")], system_prompt=f"Help {MAIL}.")
    result = await agent.ainvoke(f"I am {MAIL}.", history=history)
    await agent.ainvoke("And now?", history=history)
    for request in model.requests:
        assert MAIL not in str([one.model_dump() for one in request.messages[1:]])
        assert request.messages[0].text == f"Help {MAIL}."  # the application's own words
        assert request.messages[1].text == f"I am {HIDDEN}."
    assert [one.text for one in model.requests[2].messages if isinstance(one, ToolMessage)] == [f"Ada: {HIDDEN}"]
    assert result.messages[0].text == f"I am {MAIL}."
    assert [one.text for one in history.messages][:3] == [f"I am {MAIL}.", "", f"Ada: {MAIL}"]


async def test_it_is_found_wherever_a_message_may_hold_a_text():
    """In blocks of any provider, in arguments at any depth, as a key or a number, beside the content."""
    number = int(CARD.replace(" ", ""))
    arguments = {"to": [MAIL, {"cc": f"x {MAIL}"}], MAIL: True, "card": number, "url": MAIL, "price": 12.5, "no": None}
    messages: list[BaseMessage] = [
        HumanMessage(
            [f"I am {MAIL}", {"type": "text", "text": MAIL}, {"type": "text-plain", "text": MAIL, "title": MAIL}]
        ),
        HumanMessage([{"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": MAIL}}]),
        AIMessage(
            [
                {"type": "reasoning", "reasoning": MAIL, "extras": {"signature": "s", "more": 1}},
                {"type": "thinking", "thinking": "harmless", "signature": "s"},
                {"type": "tool_use", "id": "1", "name": "mail", "input": arguments},
            ],
            tool_calls=[call("mail", "1") | {"args": arguments}],  # type: ignore[list-item]  # pyright: ignore[reportArgumentType]
            additional_kwargs={"reasoning_content": MAIL},
        ),
        ToolMessage([{"type": "text", "text": CARD}, {"type": "json", "data": {"to": MAIL}}], tool_call_id="1"),
        HumanMessage("And?"),
    ]
    sent = await send(messages, "email", "credit_card")
    text = str([one.model_dump() for one in sent])
    assert MAIL not in text and CARD not in text and str(number) not in text
    reply = sent[2]
    assert isinstance(reply, AIMessage) and isinstance(reply.content, list)
    assert reply.content[0] == {"type": "reasoning", "reasoning": HIDDEN, "extras": {"more": 1}}
    assert reply.content[1] == {"type": "thinking", "thinking": "harmless", "signature": "s"}
    assert reply.tool_calls[0]["args"] == {
        "to": [HIDDEN, {"cc": f"x {HIDDEN}"}],
        HIDDEN: True,
        "card": "[REDACTED_CREDIT_CARD]",
        "url": HIDDEN,
        "price": 12.5,
        "no": None,
    }


async def test_a_call_that_could_not_be_read_is_filtered_as_text():
    """Its arguments are what the model wrote."""
    bad = {"type": "invalid_tool_call", "name": "mail", "args": '{"to": "' + MAIL, "id": "1", "error": f"at {MAIL}"}
    reply = AIMessage("", invalid_tool_calls=[bad])  # type: ignore[list-item]  # pyright: ignore[reportArgumentType]
    sent = await send([HumanMessage("go"), reply, ToolMessage("no", tool_call_id="1"), HumanMessage("go on")])
    assert MAIL not in str([one.model_dump() for one in sent])


async def test_media_their_addresses_and_names_stay_as_they_are():
    """A picture with another address is another picture, or none."""
    blocks: list[Any] = [
        {"type": "image", "base64": "MTI3LjAuMC4x", "mime_type": "image/png"},
        {"type": "image", "url": "https://x.y/10.0.0.1.png"},
        {"type": "image_url", "image_url": {"url": "http://x.y/z.png"}},
        {"type": "input_audio", "input_audio": {"data": "10.0.0.1", "format": "wav"}},
        {"type": "file", "file_id": "10.0.0.1", "id": "10.0.0.1"},
    ]
    messages: list[BaseMessage] = [HumanMessage(blocks)]
    (sent,) = await send(messages, "ip", "url")
    assert sent is messages[0]


async def test_what_has_nothing_to_hide_is_the_same_message(make_agent: MakeAgent):
    """So that what is sent begins as the request before."""
    seen: list[list[BaseMessage]] = []

    class Note(AgentMiddleware):
        async def wrap_model_call(self, request: ModelRequest, handler: Any) -> Any:
            seen.append([*request.messages])
            return await handler(request)

    agent, _ = make_agent(
        [[call("add", a=1, b=2)], "3"], middleware=[Note(), PIIMiddleware("email", "credit_card"), Note()]
    )
    await agent.ainvoke("What is 1 + 2?")
    for before, after in zip(seen[::2], seen[1::2], strict=True):
        assert all(one is other for one, other in zip(before, after, strict=True))


async def test_each_part_is_chosen():
    """The input, the results, both or neither."""
    messages: list[BaseMessage] = [
        SystemMessage(MAIL),
        HumanMessage(MAIL),
        AIMessage(MAIL, tool_calls=[call("x")]),
        ToolMessage(MAIL, tool_call_id="x"),
        HumanMessage("And?"),
    ]
    for inputs, results, changed in ((True, True, "123"), (True, False, "12"), (False, True, "3"), (False, False, "")):
        sent = await send(messages, apply_to_input=inputs, apply_to_tool_results=results)
        assert "".join(str(at) for at, one in enumerate(sent) if one.text == HIDDEN) == changed


async def test_an_answer_is_changed_before_it_is_used(make_agent: MakeAgent):
    """Its text, and the arguments of its calls: so the tool, the history and the caller get the changed ones."""
    asked: list[object] = []

    @tool
    def mail(to: str, card: object) -> str:
        """Send a mail."""
        asked.append((to, card))
        return "sent"

    history = InMemoryChatMessageHistory()
    script = [Turn(text=f"To {MAIL}", tool_calls=[call("mail", to=MAIL, card=4111111111111111)]), f"I wrote to {MAIL}."]
    guard = PIIMiddleware("email", "credit_card", strategy="mask", apply_to_output=True)
    agent, _ = make_agent(script, [mail], middleware=[guard])
    result = await agent.ainvoke("go", history=history)
    assert asked == [("***@*******.com", "************1111")]
    assert result.output == "I wrote to ***@*******.com."
    assert MAIL not in str([one.model_dump() for one in history.messages])


async def test_a_typed_answer_is_changed_too(make_agent: MakeAgent):
    """It is the arguments of a call."""

    class Contact(BaseModel):
        mail: str

    agent, _ = make_agent(
        [[call("Contact", mail=MAIL)]],
        response_format=Contact,
        middleware=[PIIMiddleware("email", apply_to_output=True)],
    )
    assert (await agent.ainvoke("Who?")).output == Contact(mail=HIDDEN)


@pytest.mark.both_loops
async def test_a_stream_shows_no_piece_of_what_is_taken_out(make_agent: MakeAgent):
    """The answer is held back until it is whole; without apply_to_output it comes as it comes."""
    shown: dict[bool, str] = {}
    for output in (True, False):
        guard = PIIMiddleware("email", apply_to_output=output)
        agent, _ = make_agent([f"Write to {MAIL}, soon."], middleware=[guard])
        events = [event async for event in agent.astream("go")]
        shown[output] = "".join(event.chunk.text for event in events if event.kind == "chunk")
        assert (MAIL in str(events)) is not output
    assert shown == {True: f"Write to {HIDDEN}, soon.", False: f"Write to {MAIL}, soon."}


async def test_a_stream_shows_nothing_of_it_beside_the_text(make_agent: MakeAgent):
    """Neither in the pieces of a call, nor in what the model thought."""

    @tool
    def mail(to: str) -> str:
        """Send a mail."""
        return "sent"

    thought = Turn(text="Hello.", reasoning=f"It is {MAIL}.")
    agent, _ = make_agent(
        [[call("mail", to=MAIL)], thought], [mail], middleware=[PIIMiddleware("email", apply_to_output=True)]
    )
    events = [event async for event in agent.astream("go")]
    assert MAIL not in str(events)
    assert "".join(event.chunk.text for event in events if event.kind == "chunk") == "Hello."


@pytest.mark.both_loops
@pytest.mark.parametrize("how", ["limit", "broken"])
async def test_nothing_is_left_of_an_answer_that_broke_off(make_agent: MakeAgent, how: str):
    """Nobody has seen it, and no filter has: so it is neither stored nor in the error."""
    history, events = InMemoryChatMessageHistory(), list[Any]()
    error = ConnectionFailed("reset by peer") if how == "broken" else None
    turn = Turn(text=["Write ", f"to {MAIL}", "!"], pause=10, error=error, error_after=2)
    limits = AgentLimits(seconds=25 if how == "limit" else None)
    agent, model = make_agent(
        [[call("add", a=1, b=2)], turn],
        middleware=[PIIMiddleware("email", apply_to_output=True)],
        limits=limits,
    )
    failed: ConnectionFailed | None = None
    with virtual_clock():
        try:
            async with agent.astream("go", history=history) as stream:
                events.extend([event async for event in stream])
        except ConnectionFailed as raised:
            failed = raised
    assert len(model.requests) == 2
    assert (failed is not None) == (how == "broken")
    assert MAIL not in str([events, failed and vars(failed), [one.model_dump() for one in history.messages]])


@pytest.mark.both_loops
@pytest.mark.parametrize("place", ["input", "result", "output"])
async def test_block_ends_the_run_and_does_not_say_it_again(make_agent: MakeAgent, place: str):
    """Nothing with it is sent, shown or stored as an answer."""
    history = InMemoryChatMessageHistory()
    script: list[Any] = [[call("look_up", who="Ada")], "never"] if place == "result" else [f"It is {MAIL}."]
    guard = PIIMiddleware("email", strategy="block", apply_to_output=True)
    agent, model = make_agent(script, [look_up], middleware=[guard])
    question = f"I am {MAIL}." if place == "input" else "Who?"
    with pytest.raises(ContentFiltered, match="'email' was found") as refused:
        await agent.ainvoke(question, history=history)
    assert MAIL not in str(refused.value) and MAIL not in repr(vars(refused.value))
    assert len(model.requests) == (0 if place == "input" else 1)
    assert [one.type for one in history.messages] == (["human", "ai", "tool"] if place == "result" else [])
    if place == "result":
        with pytest.raises(ContentFiltered):
            await agent.ainvoke(Resume(), history=history)
        other, model = make_agent(["Fine."], [look_up], middleware=[PIIMiddleware("email")])
        assert (await other.ainvoke(Resume(), history=history)).output == "Fine."


def test_sync_verbs_are_guarded_likewise(make_agent: MakeAgent):
    """With the same hook."""
    agent, model = make_agent(["Fine."], middleware=[PIIMiddleware("email")])
    agent.invoke(MAIL)
    assert model.requests[0].messages[0].text == HIDDEN


async def test_kinds_of_ones_own():
    """A regular expression as text or compiled, or what another engine makes of one."""

    class Engine:
        def finditer(self, text: str, /) -> Iterable[re.Match[str]]:
            return re.finditer("red|", text)

    kinds = [("order", r"ORD-\d+"), ("word", re.compile("blue", re.I)), ("color", Engine())]
    (sent,) = await send([HumanMessage("ORD-123 is Blue or red.")], *kinds)
    assert sent.text == "[REDACTED_ORDER] is [REDACTED_WORD] or [REDACTED_COLOR]."


async def test_a_pattern_that_raises_ends_the_run(make_agent: MakeAgent):
    """Nothing unfiltered leaves, to the model or from it."""

    class Broken:
        def __init__(self, on: str) -> None:
            self.on = on

        def finditer(self, text: str, /) -> Iterable[re.Match[str]]:
            if text == self.on:
                raise TimeoutError("too slow")
            return ()

    for word, requests in (("go", 0), ("secret", 1)):
        guard = PIIMiddleware(("slow", Broken(word)), apply_to_output=True)
        agent, model = make_agent(["secret"], middleware=[guard])
        history = InMemoryChatMessageHistory()
        events: list[Any] = []
        with pytest.raises(TimeoutError):
            async for event in agent.astream("go", history=history):
                events.append(event)
        assert (len(model.requests), events, history.messages) == (requests, [], [])


WRONG: list[tuple[Any, str]] = [
    ((), "no kind"),
    (("mail",), "did you mean 'email'"),
    (("email", "email"), "two kinds are called 'email'"),
    (("email", ("email", "x")), "two kinds are called 'email'"),
    ((["email", "ip"],), "a kind is"),
    ((("order",),), "a kind is"),
    ((("order", "x", "y"),), "a kind is"),
    ((("order no", "x"),), "a kind is"),
    (((1, "x"),), "a kind is"),
    ((None,), "a kind is"),
    ((("order", "("),), "does not compile"),
    ((("order", b"x"),), "does not compile"),
    ((("order", re.compile(b"x")),), "does not compile"),
    ((("order", None),), "does not compile"),
]


@pytest.mark.parametrize(("kinds", "reason"), WRONG)
def test_what_is_no_kind_is_refused(kinds: Any, reason: str):
    """When it is made."""
    with pytest.raises(InvalidInput, match=reason):
        PIIMiddleware(*kinds)


def test_an_unknown_strategy_is_refused():
    """With those that there are."""
    with pytest.raises(InvalidInput, match="redact, mask, hash, block"):
        PIIMiddleware("email", strategy="remove")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def test_langchains_arguments_are_answered():
    """With the word to use."""
    with pytest.raises(InvalidInput, match="detector"):
        PIIMiddleware("order", detector="ORD")  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    with pytest.raises(InvalidInput, match="on_failure"):
        ToolRetryMiddleware(on_failure="error")  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
