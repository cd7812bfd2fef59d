"""What any provider answers comes back from any store as it went in: calls, reasoning, signatures, ids and usage."""

from pathlib import Path
from uuid import uuid4

import anyio
import pytest

from hocket.chat_history import open_history
from hocket.messages import AIMessage
from hocket.testing import Reply, serve
from tests.kit.providers import PROVIDERS

CALL = {"name": "weather", "args": {"city": "Zürich"}, "id": "call_1"}


@pytest.fixture(params=["file", "sqlite", "redis", "postgres"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of a store; two histories of it are one conversation."""
    if request.param == "redis":
        return str(request.getfixturevalue("redis_url"))
    if request.param == "postgres":
        return str(request.getfixturevalue("postgres_url"))
    return f"{tmp_path / 'talk.jsonl'}" if request.param == "file" else f"sqlite:///{tmp_path / 'talk.db'}"


async def ask(name: str) -> AIMessage:
    """Return what a model of this provider answers to its scripted server."""
    script = [Reply("Let me see.", reasoning="clouds", tool_calls=[CALL])]
    async with serve(PROVIDERS[name].format, script) as server:
        model = PROVIDERS[name].make(model="test-model", base_url=server.url, api_key="k")
        return await model.ainvoke("Should I go out?")


@pytest.mark.parametrize("name", sorted(PROVIDERS))
def test_an_answer_survives_its_store(name: str, address: str) -> None:
    """It is equal, field by field."""
    answer, session = anyio.run(ask, name), f"test-{uuid4().hex}"
    history = open_history(address, session_id=session) if "://" in address else open_history(address)
    try:
        history.add_messages([answer])
        again = open_history(address, session_id=session) if "://" in address else open_history(address)
        assert again.messages == [answer] and again.messages[0].model_dump() == answer.model_dump()
        again.close()
    finally:
        history.clear()
        history.close()
