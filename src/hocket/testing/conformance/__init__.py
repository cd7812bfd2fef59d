"""The exam for a provider: what every model promises, as tests that a provider's own test suite inherits.

    from hocket.testing import RemoteChatModelConformance

    class TestChatParlour(RemoteChatModelConformance):
        format = ParlourFormat()
        has_tools = False

        def make(self, server_url: str) -> ChatParlour:
            return ChatParlour(model="small", base_url=server_url, api_key=self.api_key)

A model that needs no server takes `ChatModelConformance`, whose ``make`` has no argument. What a provider lacks is said
by an attribute (see `Suite` and `RemoteSuite`); a test then looks for the refusal instead, since what is dropped in
silence is worse than what is missing. A promise that a provider cannot keep for a reason of its own is a test
overridden there, with the reason. A store of conversations takes `ChatHistoryConformance`, and one of vectors
`VectorStoreConformance`.

Each test checks one promise, which its docstring says, so that a failure names what is broken. The async ones run on
asyncio and on trio by anyio's own pytest plugin, or by `hocket.testing.plugin`, which also keeps the network shut.
pytest is imported here and nowhere above.
"""

from hocket.errors import MissingDependency

try:
    import pytest
except ModuleNotFoundError as _error:
    if _error.name != "pytest":
        raise
    raise MissingDependency("the exam runs in pytest; run `pip install pytest`") from _error

_TESTS = (
    *("answers", "conversations", "exclusive", "failures", "histories", "leaving", "loops"),
    *("remote_suite", "requests", "streams"),
)
_OF_VECTORS = ("crowds", "filters", "keeping", "refusals", "searches")
pytest.register_assert_rewrite(
    *(f"{__name__}.{part}" for part in _TESTS), *(f"{__name__}.vectorstores.{part}" for part in _OF_VECTORS)
)

from hocket.testing.conformance.chat_models import ChatModelConformance, RemoteChatModelConformance  # noqa: E402
from hocket.testing.conformance.histories import ChatHistoryConformance  # noqa: E402
from hocket.testing.conformance.remote_suite import RemoteSuite  # noqa: E402
from hocket.testing.conformance.suite import Suite  # noqa: E402
from hocket.testing.conformance.vectorstores import VectorStoreConformance  # noqa: E402

__all__ = [
    "ChatHistoryConformance",
    "ChatModelConformance",
    "RemoteChatModelConformance",
    "RemoteSuite",
    "Suite",
    "VectorStoreConformance",
]
