"""For the tests of code built on hocket: a model by script, real answers as they were recorded, a run of an agent as it was
recorded, a server by script, time that jumps, a loop that must not block, no network.

``hocket.testing.plugin`` is the pytest plugin, and ``hocket.testing.conformance`` the exam for a provider, or a store of
conversations or vectors; they need pytest, which need not be installed. So the exam, and the server, are imported when
they are first used, and the exam is no part of ``__all__``: ``from hocket.testing import *`` works without pytest.
"""

from typing import TYPE_CHECKING

from hocket._runtime.lazy import Loader, loader
from hocket.errors import CassetteMiss, ModelRequestsBlocked
from hocket.language_models.scripted import ScriptedChatModel, ScriptedRequest, Turn
from hocket.testing.blocking import assert_no_blocking
from hocket.testing.cassettes import cassette
from hocket.testing.clock import VirtualClock, virtual_clock
from hocket.testing.network import no_network
from hocket.testing.prefix import assert_prefix_stable, prefix_share
from hocket.testing.recorded import recorded

if TYPE_CHECKING:
    from hocket.testing.conformance import (
        ChatHistoryConformance as ChatHistoryConformance,
        ChatModelConformance as ChatModelConformance,
        RemoteChatModelConformance as RemoteChatModelConformance,
        VectorStoreConformance as VectorStoreConformance,
    )
    from hocket.testing.server import (
        AnthropicFormat,
        BatchPlan,
        BedrockFormat,
        Body,
        CohereFormat,
        Cut,
        Events,
        GoogleFormat,
        Hangup,
        MistralFormat,
        OllamaFormat,
        OpenAIFormat,
        OpenAIResponsesFormat,
        ReceivedRequest,
        Reply,
        Server,
        Split,
        Status,
        Stream,
        Vectors,
        serve,
    )

__all__ = [
    "AnthropicFormat",
    "BatchPlan",
    "BedrockFormat",
    "Body",
    "CassetteMiss",
    "CohereFormat",
    "Cut",
    "Events",
    "GoogleFormat",
    "Hangup",
    "MistralFormat",
    "ModelRequestsBlocked",
    "OllamaFormat",
    "OpenAIFormat",
    "OpenAIResponsesFormat",
    "ReceivedRequest",
    "Reply",
    "ScriptedChatModel",
    "ScriptedRequest",
    "Server",
    "Split",
    "Status",
    "Stream",
    "Turn",
    "Vectors",
    "VirtualClock",
    "assert_no_blocking",
    "assert_prefix_stable",
    "cassette",
    "no_network",
    "prefix_share",
    "recorded",
    "serve",
    "virtual_clock",
]

_LATER = {
    "conformance": "ChatHistoryConformance ChatModelConformance RemoteChatModelConformance VectorStoreConformance",
    "server": "AnthropicFormat BatchPlan BedrockFormat Body CohereFormat Cut Events GoogleFormat Hangup MistralFormat "
    "OllamaFormat OpenAIFormat OpenAIResponsesFormat ReceivedRequest Reply Server Split Status Stream Vectors serve",
}

__getattr__: Loader = loader(__name__, _LATER)
