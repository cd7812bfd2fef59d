"""A chat that survives, as the page of durable runs has it, to be killed: ``python -m tests.durable.chat URL die|live``.

It prints each question to the model, each call of its tool, what a page reads, and in the end what the conversation has.
"""

import os
import sys
from typing import Any

import anyio

from hocket import AIMessage, create_agent, open_history, tool
from hocket.durable import current_run, open_runs
from hocket.serving import LiveAnswers
from tests.kit.models import HookCall, tool_model


def answer(request: HookCall) -> AIMessage:
    """Call the tool, and then say so."""
    said = sum(isinstance(one, AIMessage) for one in request.input)
    print("asked", said, flush=True)
    return AIMessage("all done") if said else AIMessage("", tool_calls=[{"name": "pay", "args": {}, "id": "c1"}])


@tool
def pay() -> str:
    """Pay."""
    print("paid", flush=True)
    if sys.argv[2] == "die":
        os._exit(9)
    return "paid"


async def main(url: str) -> None:
    """Ask a question, unless it is asked, and read its answer to the end."""
    runs, desk = open_runs(url), create_agent(tool_model(answer), [pay], name="desk")
    writer, reader = LiveAnswers(url, lease=4), LiveAnswers(url)

    @runs.durable
    async def turn(question: str) -> Any:
        run = current_run()
        assert run is not None
        while await writer.is_running(run.id):  # noqa: ASYNC110  # of a process that died
            await anyio.sleep(0.2)
        said = desk.astream(question, history=open_history(url, session_id="ada"))
        async for _ in await writer.start(run.id, said):
            pass
        return None if said.result is None else said.result.output

    async with runs:
        run = await turn.astart("pay it", id="ada/1")
        print("output", await run.aresult(), flush=True)
        body = await reader.follow(run.id)
        assert body is not None
        print("shown", "all done" in b"".join([piece async for piece in body]).decode())
    print("kept", *[one.type for one in await open_history(url, session_id="ada").aget_messages()])


if __name__ == "__main__":
    anyio.run(main, sys.argv[1])
