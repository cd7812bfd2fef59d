"""What of a conversation, and of what a call says, is in the request that a server gets: all of it, or nothing is sent.

Each thing that could be lost has a mark, a word that is nowhere else, and the request is searched for it. How a format
writes what stands around the mark is not looked at. What has no word of its own, as a choice among tools, is told by two
requests that must not be the same.
"""

from collections.abc import Mapping, Sequence

import pytest
from pydantic import BaseModel

from hocket.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolCall, ToolMessage
from hocket.messages.content import Fields, FieldsView
from hocket.testing.conformance.remote_suite import VERBS, RemoteSuite, ask
from hocket.testing.conformance.suite import REFUSALS, TOOL
from hocket.testing.server import ReceivedRequest, Reply

__all__ = ["Conversations", "Marked"]

CALL_IDS = ("mark7id1a", "mark7id2b")
"""Ids of tool calls: nine letters and digits, which every format takes as they are."""

CALLED = "mark_tool"
"""A tool that was called, and is no longer offered: its name is in the conversation only."""

OTHER_TOOL: Fields = {"type": "function", "function": {**TOOL["function"], "name": "get_tide"}}
SCHEMA_MARK = "mark_property"
FORM: Fields = {
    "type": "json_schema",
    "json_schema": {
        "name": "Marked",
        "schema": {
            "type": "object",
            "properties": {SCHEMA_MARK: {"type": "integer"}},
            "required": [SCHEMA_MARK],
            "additionalProperties": False,
        },
    },
}
SWITCHES: FieldsView = {
    "reasoning_effort": ("low", "high"),
    "parallel_tool_calls": (None, False),
    "logprobs": (None, True),
    "logit_bias": (None, {50: 1.5}),
    "n": (None, 2),
}
"""Options, each with two values; None: it is left out."""

FITTING = Reply(f'{{"{SCHEMA_MARK}": 1}}')

SAID: Mapping[str, Sequence[BaseMessage]] = {
    "a system message": [SystemMessage("mark-system"), HumanMessage("mark-last")],
    "earlier messages": [HumanMessage("mark-first"), AIMessage("mark-reply"), HumanMessage("mark-last")],
    "parts of a message": [
        HumanMessage([{"type": "text", "text": "mark-part-1"}, {"type": "text", "text": "mark-part-2"}])
    ],
}
"""Conversations of texts. Each text is a mark."""


def _make_tool_history() -> list[BaseMessage]:
    """Return a conversation with two tool calls and their results."""
    calls: list[ToolCall] = [
        {"name": f"{CALLED}_{number}", "args": {"place": f"mark-place-{number}"}, "id": id, "type": "tool_call"}
        for number, id in enumerate(CALL_IDS)
    ]
    results = [ToolMessage(f"mark-result-{number}", tool_call_id=id) for number, id in enumerate(CALL_IDS)]
    first = AIMessage("mark-with-call", tool_calls=calls)
    return [HumanMessage("mark-first"), first, *results, AIMessage("mark-reply"), HumanMessage("mark-last")]


TOOL_MARKS = {
    "what was said": ["mark-first", "mark-with-call", "mark-reply", "mark-last"],
    "tool calls": [f"{CALLED}_0", f"{CALLED}_1", "mark-place-0", "mark-place-1"],
    "results of tools": ["mark-result-0", "mark-result-1"],
}


class Marked(BaseModel):
    """The form of an answer."""

    mark_property: int


class Conversations(RemoteSuite):
    """Tests of what the server is told."""

    @pytest.mark.parametrize("verb", VERBS)
    @pytest.mark.parametrize("what", SAID)
    async def test_every_message_is_sent(self, what: str, verb: str) -> None:
        """The server reads the whole conversation, or the call is refused and it reads nothing. No message is dropped.

        ``has_system = False`` says that system messages are refused; parts of a message may be, without a word.
        """
        messages = SAID[what]
        refused = what == "a system message" and not self.has_system
        marks = [
            part["text"] if isinstance(part, dict) else part for message in messages for part in _parts_of(message)
        ]
        async with self.answering() as model:
            try:
                await ask(model, verb, list(messages), [])
            except REFUSALS:
                assert refused or what == "parts of a message", f"{what}: refused; has_system is True"
                assert not self.server.requests, "refused, but only after something was sent"
            else:
                assert not refused, f"{what}: taken, but has_system = False"
                assert _find_missing(self.server.requests[-1], marks) == [], f"{what}: dropped in silence"

    @pytest.mark.parametrize("verb", VERBS)
    async def test_calls_and_results_are_sent(self, verb: str) -> None:
        """Tool calls go back with name and arguments, and the text beside them, and results with all they say.

        Without tools such a conversation is refused.
        """
        messages = _make_tool_history()
        async with self.answering() as model:
            if not self.has_tools:
                with pytest.raises(REFUSALS):
                    await ask(model, verb, messages, [])
                assert not self.server.requests, "refused, but only after something was sent"
                return
            await ask(model.bind_tools([TOOL]), verb, messages, [])
            missing = {what: _find_missing(self.server.requests[-1], marks) for what, marks in TOOL_MARKS.items()}
        assert not any(missing.values()), f"{missing}: dropped in silence"

    @pytest.mark.parametrize("verb", VERBS)
    async def test_a_result_says_which_call_it_answers(self, verb: str) -> None:
        """The id of each call is sent twice: with the call, and with its result. (``has_call_ids``: the format has ids.)"""
        if not (self.has_tools and self.has_call_ids):
            pytest.skip("the format has no ids of calls")
        async with self.answering() as model:
            await ask(model.bind_tools([TOOL]), verb, _make_tool_history(), [])
            body = self.server.requests[-1].body.decode()
        lost = [id for id in CALL_IDS if body.count(id) < 2]
        assert lost == [], "an id is with the call and with its result; a format without ids says has_call_ids = False"

    async def test_a_failure_of_a_tool_is_sent(self) -> None:
        """A result whose ``status`` is "error" is another request than one that went well: the model is told."""
        if not self.has_tools:
            pytest.skip("has_tools = False: that they are refused is tested above")
        bodies: list[bytes] = []
        async with self.answering() as model:
            for status in ("success", "error"):
                messages = [
                    message.model_copy(update={"status": status}) if isinstance(message, ToolMessage) else message
                    for message in _make_tool_history()
                ]
                await model.bind_tools([TOOL]).ainvoke(messages)
                bodies.append(self.server.requests[-1].body)
        assert bodies[0] != bodies[1], "status='error' of a tool's result: dropped in silence"

    async def test_names_of_speakers_are_sent(self) -> None:
        """``name`` of a human message reaches the server, where it has a place for it (``has_names``)."""
        if not self.has_names:
            pytest.skip("has_names = False")
        async with self.answering() as model:
            await model.ainvoke([HumanMessage(self.question, name="mark-name")])
            assert _find_missing(self.server.requests[-1], ["mark-name"]) == [], "dropped in silence"

    @pytest.mark.parametrize("choice", ["auto", "none", "any", "get_weather"])
    async def test_a_tool_choice_is_sent_or_refused(self, choice: str) -> None:
        """Each choice is sent, in the provider's words, or refused before anything is; one of an unknown tool always is."""
        if not self.has_tools:
            pytest.skip("has_tools = False: that they are refused is tested above")
        async with self.answering() as model:
            try:
                await model.bind_tools([TOOL], tool_choice=choice).ainvoke(self.question)
            except REFUSALS:
                assert not self.server.requests, "refused, but only after something was sent"
            else:
                assert b"get_weather" in self.server.requests[-1].body or choice == "none"
            with pytest.raises(REFUSALS):
                model.bind_tools([TOOL], tool_choice="no_such_tool")

    async def test_each_tool_choice_has_words_of_its_own(self) -> None:
        """Choices that mean different things are different requests: none is taken and then ignored."""
        if not self.has_tools:
            pytest.skip("has_tools = False: that they are refused is tested above")
        bodies: dict[str, bytes] = {}
        async with self.answering() as model:
            for choice in (None, "none", "any", "get_weather", "get_tide"):
                try:
                    await model.bind_tools([TOOL, OTHER_TOOL], tool_choice=choice).ainvoke(self.question)
                except REFUSALS:
                    continue
                body = self.server.requests[-1].body
                same = [other for other, sent in bodies.items() if sent == body]
                assert not same, f"tool_choice={choice!r} is the same request as {same[0]}: dropped in silence"
                bodies[f"tool_choice={choice!r}"] = body

    @pytest.mark.parametrize("verb", VERBS)
    async def test_a_form_of_answer_is_sent_or_refused(self, verb: str) -> None:
        """The schema of ``response_format`` reaches the server, or the call is refused. It is never dropped in silence."""
        async with self.serving(FITTING) as model:
            try:
                await ask(model, verb, self.question, [], response_format=FORM)
            except REFUSALS:
                assert not self.server.requests, "refused, but only after something was sent"
            else:
                assert _find_missing(self.server.requests[-1], [SCHEMA_MARK]) == [], "dropped in silence"

    async def test_a_schema_is_sent_or_refused(self) -> None:
        """`with_structured_output` by JSON schema sends the schema, or says that there is no way to it."""
        async with self.serving(FITTING) as model:
            try:
                answer = await model.with_structured_output(Marked, method="json_schema").ainvoke(self.question)
            except REFUSALS:
                assert not self.server.requests, "refused, but only after something was sent"
            else:
                assert _find_missing(self.server.requests[-1], [SCHEMA_MARK]) == [], "dropped in silence"
                assert answer == Marked(mark_property=1)

    @pytest.mark.parametrize("name", SWITCHES)
    async def test_a_switch_is_sent_or_refused(self, name: str) -> None:
        """An option whose value a format may write in words of its own: two values are two requests, or it is refused."""
        bodies: list[bytes] = []
        async with self.answering() as model:
            asked = model.bind_tools([TOOL]) if name == "parallel_tool_calls" and self.has_tools else model
            for value in SWITCHES[name]:
                try:
                    await asked.ainvoke(self.question, **({} if value is None else {name: value}))
                except REFUSALS as refusal:
                    assert value is not None and name in str(refusal)
                    assert len(self.server.requests) == len(bodies), "refused, but only after something was sent"
                    return
                bodies.append(self.server.requests[-1].body)
        assert bodies[0] != bodies[1], "dropped in silence"

    @pytest.mark.parametrize("verb", VERBS)
    async def test_the_model_of_a_call_is_asked(self, verb: str) -> None:
        """``model=`` with a call names the model that the server is asked for, in body or path; or it is refused."""
        await self._check_sent_or_refused(verb, ["mark-model"], {"model": "mark-model"})

    @pytest.mark.parametrize("verb", VERBS)
    async def test_further_fields_are_sent_or_refused(self, verb: str) -> None:
        """``extra_body`` goes into the body as it is, or is refused by name."""
        await self._check_sent_or_refused(
            verb, ["mark_field", "mark-value"], {"extra_body": {"mark_field": "mark-value"}}
        )

    @pytest.mark.parametrize("verb", VERBS)
    async def test_further_headers_are_sent_or_refused(self, verb: str) -> None:
        """``extra_headers`` are sent as they are, or refused by name."""
        await self._check_sent_or_refused(verb, ["mark-value"], {"extra_headers": {"x-mark": "mark-value"}})

    async def _check_sent_or_refused(self, verb: str, marks: Sequence[str], option: FieldsView) -> None:
        async with self.answering() as model:
            try:
                await ask(model, verb, self.question, [], **option)
            except REFUSALS as refusal:
                assert next(iter(option)) in str(refusal)
                assert not self.server.requests, "refused, but only after something was sent"
            else:
                assert _find_missing(self.server.requests[-1], marks) == [], "dropped in silence"


def _parts_of(message: BaseMessage) -> Sequence[str | Fields]:
    return [message.content] if isinstance(message.content, str) else message.content


def _find_missing(request: ReceivedRequest, marks: Sequence[str]) -> list[str]:
    """Return the marks that a request has nowhere: neither in its path and headers, nor in its body."""
    said = f"{request.path}?{request.query} {dict(request.headers)} {request.body.decode()}"
    return [mark for mark in marks if mark not in said]
