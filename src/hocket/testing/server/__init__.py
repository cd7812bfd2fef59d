"""A small HTTP server on loopback that does what a script says, in a provider's words: for what mocks cannot show.

    async with serve(OpenAIFormat(), [Stream("Hello there", every=0.01, then="stall")]) as server:
        model = ChatOpenAI(model="m", base_url=server.url, api_key="k")
        ...
        await server.wait_for_open_connections(0, within=0.1)

A script is made of behaviours. In the provider's words: `Reply`, `Stream`, `Vectors`, `Status`; in nobody's: `Body`,
`Events`, `Hangup`; and what can be done to another one: `Cut`, `Split`. Anything else with a method ``answer`` will do,
and a further provider is one file beside ``openai.py``: a class that derives from `Format`.

Pauses take real time only where no virtual clock is in use: in the test's own loop the server waits by hocket's clock,
so that `virtual_clock` jumps over its silences too (it sees what is under way: bytes on loopback arrive as they are
sent). In a thread it always waits in real time, because a clock cannot see that another loop is at work.
"""

from hocket.testing.server.anthropic import AnthropicFormat
from hocket.testing.server.batches import ScriptedBatches
from hocket.testing.server.bedrock import BedrockFormat, write_frame
from hocket.testing.server.behaviours import (
    Behaviour,
    Body,
    Cut,
    Events,
    Hangup,
    Reply,
    Split,
    Status,
    Stream,
    Vectors,
)
from hocket.testing.server.cohere import CohereFormat
from hocket.testing.server.format import (
    Format,
    ReplyEvents,
    WholeReply,
    cut_text,
    measure_text,
    read_body,
    write_event,
)
from hocket.testing.server.google import GoogleFormat
from hocket.testing.server.mistral import MistralFormat
from hocket.testing.server.ollama import OllamaFormat
from hocket.testing.server.openai import OpenAIFormat
from hocket.testing.server.openai_responses import OpenAIResponsesFormat
from hocket.testing.server.reply_content import ReplyContent, ScriptedToolCall, VectorContent, write_arguments
from hocket.testing.server.server import Script, Server, serve
from hocket.testing.server.submitted_batch import BatchPlan, SubmittedBatch, SubmittedRow
from hocket.testing.server.wire import Bill, End, ReceivedRequest, Step, Wait, WireAnswer

__all__ = [
    "AnthropicFormat",
    "BatchPlan",
    "BedrockFormat",
    "Behaviour",
    "Bill",
    "Body",
    "CohereFormat",
    "Cut",
    "End",
    "Events",
    "Format",
    "GoogleFormat",
    "Hangup",
    "MistralFormat",
    "OllamaFormat",
    "OpenAIFormat",
    "OpenAIResponsesFormat",
    "ReceivedRequest",
    "Reply",
    "ReplyContent",
    "ReplyEvents",
    "Script",
    "ScriptedBatches",
    "ScriptedToolCall",
    "Server",
    "Split",
    "Status",
    "Step",
    "Stream",
    "SubmittedBatch",
    "SubmittedRow",
    "VectorContent",
    "Vectors",
    "Wait",
    "WholeReply",
    "WireAnswer",
    "cut_text",
    "measure_text",
    "read_body",
    "serve",
    "write_arguments",
    "write_event",
    "write_frame",
]
