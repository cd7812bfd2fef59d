"""Prompts that programs pull by name from LangChain's hub: texts of hocket's own, with the variables that those have.

Nothing is fetched. A text from elsewhere may say to a model what its reader has not seen, and may be another one tomorrow;
so a prompt that is not known here belongs into the program.
"""

from collections.abc import Mapping
from typing import Any

from hocket.errors import InvalidInput
from hocket.prompts.base import BasePromptTemplate
from hocket.prompts.chat import ChatPromptTemplate
from hocket.prompts.message import PromptTemplate

__all__ = ["KNOWN", "pull"]

_REACT = """Answer the question as well as you can. You have these tools:

{tools}

Write in this format:

Question: the question to answer
Thought: what to do next
Action: the tool to use, one of [{tool_names}]
Action Input: what the tool is given
Observation: what the tool answers
... (Thought, Action, Action Input and Observation may come several times)
Thought: I know the answer
Final Answer: the answer to the question
"""
_TALK = """
The talk so far:
{chat_history}
"""
_ASKED = """
Question: {input}
Thought:{agent_scratchpad}"""

_JSON = """Answer the person as helpfully and exactly as you can. You have these tools:

{tools}

To use a tool, or to answer, write one JSON object with the keys "action" and "action_input", and nothing beside it.
The action is "Final Answer" or one of {tool_names}:

```
{{
  "action": "the name of a tool",
  "action_input": "what the tool is given"
}}
```

Write in this format:

Question: what the person wants
Thought: what is known, and what to do next
Action:
```
the JSON object
```
Observation: what the tool answers
... (Thought, Action and Observation may come several times)
Thought: I know what to answer
Action:
```
{{
  "action": "Final Answer",
  "action_input": "the answer to the person"
}}
```"""

_Prompt = str | tuple[tuple[str, str], ...]
_TOOLS: _Prompt = (
    ("system", "You are a helpful assistant."),
    ("placeholder", "{chat_history}"),
    ("human", "{input}"),
    ("placeholder", "{agent_scratchpad}"),
)

KNOWN: Mapping[str, _Prompt] = {
    "hwchase17/openai-functions-agent": _TOOLS,
    "hwchase17/openai-tools-agent": _TOOLS,
    "hwchase17/react": _REACT + _ASKED,
    "hwchase17/react-chat": _REACT + _TALK + _ASKED,
    "hwchase17/structured-chat-agent": (
        ("system", _JSON),
        ("placeholder", "{chat_history}"),
        ("human", "{input}\n\n{agent_scratchpad}\n(Write one JSON object, whatever the answer is.)"),
    ),
    "langchain-ai/retrieval-qa-chat": (
        ("system", "Answer by this context alone:\n\n<context>\n{context}\n</context>"),
        ("placeholder", "{chat_history}"),
        ("human", "{input}"),
    ),
    "rlm/rag-prompt": (
        (
            "human",
            "Answer the question by the context, in three sentences at most; if it is not there, say that you do not know.\n"
            "Question: {question}\nContext: {context}\nAnswer:",
        ),
    ),
}
"""The name of a prompt → its text, or the roles and texts of its messages."""


def pull(owner_repo_commit: str) -> BasePromptTemplate[Any]:
    """Return a prompt that has the variables of one in LangChain's hub.

    Args:
        owner_repo_commit: its name, ``"owner/name"``; a version behind it makes no difference.

    Raises:
        InvalidInput: it is not known here.
    """
    prompt = KNOWN.get(owner_repo_commit.partition(":")[0])
    if prompt is None:
        raise InvalidInput(
            f"no prompt {owner_repo_commit!r} is known here, and none is fetched; write its text into the program, with "
            f"ChatPromptTemplate.from_messages (known are {', '.join(KNOWN)})"
        )
    if isinstance(prompt, str):
        return PromptTemplate.from_template(prompt)
    return ChatPromptTemplate.from_messages([*prompt])
