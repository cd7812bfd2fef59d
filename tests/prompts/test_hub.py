"""Prompts by the names that they have in LangChain's hub."""

import pytest

from hocket.classic.agents import create_react_agent, create_tool_calling_agent
from hocket.errors import InvalidInput
from hocket.language_models import ScriptedChatModel
from hocket.prompts import hub

VARIABLES = {
    "hwchase17/openai-functions-agent": ["agent_scratchpad", "chat_history", "input"],
    "hwchase17/openai-tools-agent": ["agent_scratchpad", "chat_history", "input"],
    "hwchase17/react": ["agent_scratchpad", "input", "tool_names", "tools"],
    "hwchase17/react-chat": ["agent_scratchpad", "chat_history", "input", "tool_names", "tools"],
    "hwchase17/structured-chat-agent": ["agent_scratchpad", "chat_history", "input", "tool_names", "tools"],
    "langchain-ai/retrieval-qa-chat": ["chat_history", "context", "input"],
    "rlm/rag-prompt": ["context", "question"],
}


@pytest.mark.parametrize("name", sorted(hub.KNOWN))
def test_variables(name: str) -> None:
    """They are those of the hub's prompt; a version behind the name is nothing to us."""
    prompt = hub.pull(name)
    assert sorted({*prompt.input_variables, *prompt.optional_variables}) == VARIABLES[name]
    assert hub.pull(f"{name}:0123abcd") == prompt


def test_agents_take_them() -> None:
    """As they come."""
    model = ScriptedChatModel(script=[])
    create_react_agent(model, [], hub.pull("hwchase17/react"))
    create_react_agent(model, [], hub.pull("hwchase17/react-chat"))
    create_tool_calling_agent(model, [], hub.pull("hwchase17/openai-tools-agent"))


def test_what_is_not_known() -> None:
    """Is refused: nothing is fetched."""
    with pytest.raises(InvalidInput, match="no prompt 'a/b' is known here"):
        hub.pull("a/b")
