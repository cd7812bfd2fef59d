"""An agent works with a model that calls no tools, through a `ReActFormat`."""

from typing import Any

from hocket.agents import ReActFormat, create_agent
from hocket.language_models import ScriptedChatModel
from hocket.messages import AIMessage
from hocket.tools import tool


@tool
def search(query: str) -> str:
    """Search the archive."""
    return "12 hours"


async def test_a_reply_that_cannot_be_read_is_told_and_the_question_stays() -> None:
    """The second prompt has the question, the reply, and what was wrong with it; none of it is stored."""
    model = ScriptedChatModel(
        script=[
            AIMessage("I wonder."),
            AIMessage("Action: search\nAction Input: time zones\nObservation: 13 hours\nFinal Answer: 4 am"),
            AIMessage("Thought: so\nFinal Answer: 3 am"),
        ]
    )
    agent = create_agent(model, [search], style=ReActFormat())
    result: Any = await agent.ainvoke("What is 3 pm in China in New York?")
    assert result.output == "3 am"
    assert [message.type for message in result.messages] == ["human", "ai", "tool", "ai"]
    second, third = (request.messages[-1].text for request in model.requests[1:])
    assert "\n\nQuestion: What is 3 pm in China in New York?\n\nThought: I wonder.\n\nObservation: Your reply" in second
    assert "Action: search\nAction Input: time zones\nObservation: 12 hours\n" in third
