"""What a target has answered, as scorers are given it: the same shape for models, chains, agents and retrievers."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, cast

from hocket.agents.result import AgentResult
from hocket.batch.digest import to_plain
from hocket.batch.runner import write_output
from hocket.chains.citations import Citation
from hocket.documents import Document
from hocket.messages import AIMessage, BaseMessage, ToolMessage, UsageMetadata

__all__ = ["Answer", "FoundDocument", "restore_answer", "write_answer", "write_input"]

_TEXTS = ("answer", "output", "text", "result")  # where chains keep the text of their answers
_DOCUMENTS = ("context", "documents", "source_documents")


@dataclass(frozen=True)
class FoundDocument:
    """A document of an answer: its id, its ``source``, and its text."""

    id: str | None = None
    source: str | None = None
    text: str = ""


@dataclass(frozen=True)
class Answer:
    """What a target has answered to a case.

    Attributes:
        output: the answer as data: a text, or what a chain ends with.
        text: its text; of data without one, the data as JSON.
        calls: of tools, in order: ``{"name": …, "args": …}`` each.
        documents: that were found, the best first.
        citations: sources that the answer names, in its order.
        unsupported: numbers that it cites, and that name nothing.
        error: what the answer failed of, which is the answer's own fault; None: it did not.
        seconds: that it took, without its waits for limits of models; None: not known, as in a provider's batch.
        usage: tokens. cost: in US dollars. None: not known.
    """

    output: Any = None
    text: str = ""
    calls: Sequence[Mapping[str, Any]] = ()
    documents: Sequence[FoundDocument] = ()
    citations: Sequence[str] = ()
    unsupported: Sequence[int] = ()
    error: str | None = None
    seconds: float | None = None
    usage: UsageMetadata | None = None
    cost: Decimal | None = field(default=None)


def write_answer(result: object) -> dict[str, Any]:
    """Return the fields of an answer as JSON data, without those that are empty.

    Raises:
        InvalidInput: it cannot be written as JSON.
    """
    data = _read(result)
    return {key: value for key, value in data.items() if value or key == "output"}


def restore_answer(data: Mapping[str, Any], **facts: Any) -> Answer:
    """Return an answer that was written, with ``error``, ``seconds``, ``usage`` and ``cost`` as ``facts``."""
    fields: dict[str, Any] = {**data, **facts}
    fields["documents"] = [FoundDocument(**one) for one in data.get("documents", ())]
    return Answer(**fields)


def _read(result: object) -> dict[str, Any]:
    if isinstance(result, AgentResult):
        agent = cast("AgentResult[object]", result)
        found = [
            one
            for message in agent.new_messages
            if isinstance(message, ToolMessage)
            for one in _list_documents(message.artifact)
        ]
        return {**_read_data(agent.output), "calls": _list_calls(agent.new_messages), "documents": found}
    if isinstance(result, AIMessage):
        return {"output": result.text, "text": result.text, "calls": _list_calls([result])}
    if isinstance(result, BaseMessage):
        return {"output": result.text, "text": result.text}
    if documents := _list_documents(result):
        return {"output": None, "text": "\n\n".join(one["text"] for one in documents), "documents": documents}
    return _read_data(result)


def _read_data(result: object) -> dict[str, Any]:
    """Return what is known of data that a chain ends with."""
    if not isinstance(result, Mapping):
        output = write_output(result)
        return {"output": output, "text": output if isinstance(output, str) else json.dumps(output, ensure_ascii=False)}
    data = dict(cast("Mapping[str, Any]", result))
    documents = [one for key in _DOCUMENTS for one in _list_documents(data.pop(key, None))]
    citations: Iterable[object] = data.pop("citations", None) or ()
    unsupported: object = data.pop("unsupported", None) or []
    text = next((data[key] for key in _TEXTS if isinstance(data.get(key), str)), None)
    output = write_output(data)
    return {
        "output": output,
        "text": json.dumps(output, ensure_ascii=False) if text is None else text,
        "documents": documents,
        "citations": [one.source if isinstance(one, Citation) else str(one) for one in citations],
        "unsupported": unsupported,
    }


def _list_documents(value: object) -> list[dict[str, Any]]:
    """Return documents as data; of anything but a list of them, none."""
    several = cast("list[object]", value) if isinstance(value, list) else []
    if not several or not all(isinstance(one, Document) for one in several):
        return []
    return [
        {"id": one.id, "source": _read_source(one), "text": one.page_content} for one in cast("list[Document]", several)
    ]


def _read_source(document: Document) -> str | None:
    source = document.metadata.get("source")
    return None if source is None else str(source)


def _list_calls(messages: Iterable[BaseMessage]) -> list[dict[str, Any]]:
    return [
        {"name": call["name"], "args": dict(call["args"])}
        for message in messages
        if isinstance(message, AIMessage)
        for call in message.tool_calls
    ]


def write_input(value: object) -> Any:
    """Return what was asked as JSON data, to be shown."""
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, BaseMessage):
        return {"type": value.type, "content": value.text}
    if isinstance(value, Mapping):
        return {str(key): write_input(one) for key, one in cast("Mapping[object, object]", value).items()}
    if isinstance(value, list | tuple):
        return [write_input(one) for one in cast("Sequence[object]", value)]
    plain = to_plain(value)
    return plain if isinstance(plain, str | int | float) else str(plain)
