"""The copies that handlers see: made at the first look, by whatever means, and never the caller's own messages."""

import copy
import heapq
import itertools
import json
import operator
import pickle
import random
import threading
from collections.abc import Callable
from typing import Any

import pytest

from hocket._pipeline.lazy_copies import LazyCopies
from hocket.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage

Look = Callable[[list[BaseMessage]], Any]


def conversation() -> list[BaseMessage]:
    return [
        SystemMessage("be brief"),
        HumanMessage(content=[{"type": "text", "text": "hi", "extras": {"list": [1]}}], name="bob"),
        AIMessage("hello", additional_kwargs={"a": [1]}, id="1"),
    ]


def matched(messages: list[BaseMessage]) -> list[BaseMessage]:
    match messages:
        case [first, *rest]:
            return [first, *rest]
        case _:
            raise AssertionError


def unpacked(messages: list[BaseMessage]) -> list[BaseMessage]:
    first, *rest = messages
    return [first, *rest]


def extended(messages: list[BaseMessage]) -> list[BaseMessage]:
    mine: list[BaseMessage] = []
    mine.extend(messages)
    mine += messages
    mine[0:0] = messages
    return mine


def popped(messages: list[BaseMessage]) -> list[BaseMessage]:
    return [messages.pop(), messages.pop(0), messages.pop(-1)]


def doubled(messages: list[BaseMessage]) -> list[BaseMessage]:
    messages *= 2
    return list(messages)


def shuffled(messages: list[BaseMessage]) -> list[BaseMessage]:
    random.shuffle(messages)
    return messages[:]


def sorted_in_place(messages: list[BaseMessage]) -> list[BaseMessage]:
    messages.sort(key=lambda message: message.text)
    return messages[:]


def reversed_in_place(messages: list[BaseMessage]) -> list[BaseMessage]:
    messages.reverse()
    return messages[:]


def as_arguments(messages: list[BaseMessage]) -> list[BaseMessage]:
    return (lambda *args: list(args))(*messages)


LOOKS: dict[str, Look] = {
    "iteration": lambda messages: [message for message in messages],
    "list": list,
    "tuple": tuple,
    "index": lambda messages: [messages[0], messages[1], messages[-1]],
    "slice": lambda messages: messages[:],
    "itemgetter": operator.itemgetter(0, 1),
    "reversed": lambda messages: list(reversed(messages)),
    "sorted": lambda messages: sorted(messages, key=lambda message: message.text),
    "enumerate": lambda messages: [message for _, message in enumerate(messages)],
    "zip": lambda messages: [message for message, _ in zip(messages, range(3), strict=True)],
    "chain": lambda messages: list(itertools.chain(messages, messages)),
    "max": lambda messages: [max(messages, key=lambda message: len(message.text))],
    "nlargest": lambda messages: heapq.nlargest(2, messages, key=lambda message: message.text),
    "filter": lambda messages: list(filter(None, messages)),
    "star": lambda messages: [*messages],
    "arguments": as_arguments,
    "unpacking": unpacked,
    "match": matched,
    "plus": lambda messages: messages + [],  # noqa: RUF005
    "plus on the right": lambda messages: [] + messages,  # noqa: RUF005
    "plus itself": lambda messages: messages + messages,
    "times": lambda messages: [*(messages * 2), *(2 * messages)],
    "in-place times": doubled,
    "copy": lambda messages: messages.copy(),
    "copy.copy": copy.copy,
    "copy.deepcopy": copy.deepcopy,
    "pickle": lambda messages: pickle.loads(pickle.dumps(messages)),
    "extend": extended,
    "pop": popped,
    "shuffle": shuffled,
    "sort": sorted_in_place,
    "reverse": reversed_in_place,
}


@pytest.mark.parametrize("look", LOOKS.values(), ids=LOOKS.keys())
def test_no_look_ever_shows_the_callers_own(look: Look) -> None:
    """Every way to get at an element gives a copy of it, equal to the original."""
    mine = conversation()
    seen = list(look(LazyCopies(mine)))
    assert seen
    for message in seen:
        assert message in mine
        assert all(message is not own for own in mine)


def test_edits_of_the_copies_do_not_reach_the_caller() -> None:
    """Nor, in the other direction, do they get lost: the copies are made once."""
    mine = conversation()
    shown = LazyCopies(mine)
    shown[0].content = "EDITED"
    shown[1].content[0]["extras"]["list"].append(2)  # type: ignore[index]
    shown[2].additional_kwargs["a"].append(2)
    shown[2].id = "EDITED"
    shown.append(HumanMessage("more"))
    del shown[1]
    assert mine == conversation()
    assert [message.content for message in shown] == ["EDITED", "hello", "more"]
    assert shown[1].additional_kwargs == {"a": [1, 2]}


def test_it_is_a_list_like_any_other() -> None:
    """Length, truth, equality, membership, text and type are those of the list of copies."""
    mine = conversation()
    shown = LazyCopies(mine)
    assert isinstance(shown, list)
    assert len(shown) == 3
    assert shown
    assert not LazyCopies([])
    assert shown == mine
    assert mine == shown
    assert mine[1] in shown
    assert shown.index(mine[1]) == 1
    assert shown.count(mine[1]) == 1
    assert repr(shown) == repr(mine)
    assert str(shown) == str(mine)
    assert f"{shown}" == f"{mine}"
    assert shown[1:] == mine[1:]
    assert json.dumps(shown, default=lambda message: message.text) == '["be brief", "hi", "hello"]'
    with pytest.raises(TypeError, match="unhashable"):
        hash(shown)
    with pytest.raises(IndexError):
        shown[3]


def test_it_can_be_changed_like_any_other() -> None:
    """Every mutating method does what it does to a list."""
    mine = conversation()
    shown = LazyCopies(mine)
    shown.insert(0, HumanMessage("first"))
    shown += [HumanMessage("last")]
    shown.extend([HumanMessage("very last")])
    shown.remove(mine[1])
    shown[1] = SystemMessage("replaced")
    assert [message.content for message in shown] == ["first", "replaced", "hello", "last", "very last"]
    shown.clear()
    shown.append(HumanMessage("again"))
    assert [message.content for message in shown] == ["again"]
    assert mine == conversation()


def test_nothing_is_copied_before_somebody_looks() -> None:
    """A thousand messages that no handler reads cost nothing."""
    mine = [HumanMessage("hi")]
    shown = LazyCopies(mine)
    assert len(shown) == 1
    assert bool(shown)
    assert not hasattr(shown, "_is_copied")
    assert shown[0] is not mine[0]
    assert shown._is_copied


def test_a_pickled_or_copied_one_is_a_plain_list() -> None:
    """What leaves the process has no secret."""
    shown = LazyCopies(conversation())
    assert type(pickle.loads(pickle.dumps(shown))) is list
    assert type(copy.deepcopy(shown)) is list
    assert type(copy.copy(shown)) is list


def test_threads_that_look_at_once_see_the_same_copies() -> None:
    """And none of them the caller's."""
    for _ in range(50):
        mine: list[BaseMessage] = [HumanMessage(str(number)) for number in range(50)]
        shown = LazyCopies(mine)
        start = threading.Barrier(4)
        seen: list[list[BaseMessage]] = []

        def look(shown: LazyCopies = shown, start: threading.Barrier = start, seen: Any = seen) -> None:
            start.wait()
            seen.append(list(shown))

        threads = [threading.Thread(target=look) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        first = [id(message) for message in seen[0]]
        assert all([id(message) for message in one] == first for one in seen)
        assert not set(first) & {id(message) for message in mine}
