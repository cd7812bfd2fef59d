"""A hocket model for LangChain's suites: it calls what it is given and fills what it is asked for."""

import json
import re
from typing import Any

from hocket.language_models import ScriptedChatModel, ScriptedRequest, Turn
from hocket.messages import AIMessageChunk, ToolMessage

USAGE = {"input_tokens": 3, "output_tokens": 2, "total_tokens": 5}


class Oracle(ScriptedChatModel):
    """Calls the first tool that it is given, unless it has been answered; else says what it can."""

    script: Any = ()

    def _next_turn(self, request: ScriptedRequest) -> Turn | AIMessageChunk:
        self._requests.append(request)
        params, last = request.params, request.messages[-1]
        facts = {"finish_reason": "stop", "model_name": params.get("model", "oracle-1")}
        form = params.get("response_format")
        if form is not None:
            schema = form.get("json_schema", {}).get("schema") or JOKE
            return Turn(text=json.dumps(fill(schema, last.text)), usage=USAGE, metadata=facts)
        if params.get("tools") and not isinstance(last, ToolMessage):
            functions = {tool["function"]["name"]: tool["function"] for tool in params["tools"]}
            name = params.get("tool_choice")
            function = functions.get(name) or next(iter(functions.values()))
            args = fill(function["parameters"], last.text)
            call = {"name": function["name"], "args": args, "id": "call_1", "type": "tool_call"}
            return Turn(tool_calls=[call], usage=USAGE, metadata={**facts, "finish_reason": "tool_calls"})
        return Turn(text="Hello you there", usage=USAGE, metadata=facts)


JOKE = {"type": "object", "properties": {"setup": {"type": "string"}, "punchline": {"type": "string"}}}


def fill(schema: dict[str, Any], question: str) -> Any:
    """Return a value of a schema; texts are what the question has in quotes."""
    kind = schema.get("type")
    if "anyOf" in schema:
        return fill(schema["anyOf"][0], question)
    if kind == "object":
        return {name: fill(one, question) for name, one in schema.get("properties", {}).items()}
    if kind in ("integer", "number"):
        return 3
    found = re.search(r"'(.+?)'", question)
    return found[1] if found else "a word"
