"""The number of a conversation's tokens, as Anthropic's clients ask for it: counted by the model's own counter.

Source: https://docs.anthropic.com/en/api/messages-count-tokens
"""

from hocket._asgi import Send
from hocket._runtime.mode import ASYNC
from hocket.errors import Unsupported
from hocket.language_models import BaseChatModel
from hocket.messages import BaseMessage
from hocket.messages.content import Fields
from hocket.remote.chat_model import RemoteChatModel
from hocket.serving.gateway.exchange import GatewayExchange
from hocket.serving.gateway.face import AnswerRequest, drop_foreign
from hocket.serving.gateway.messages_request import read_count_request
from hocket.serving.message_parts import encode_json
from hocket.serving.refusals import Refusal

__all__ = ["CountExchange"]


class CountExchange(GatewayExchange[AnswerRequest]):
    """One request for a number of tokens. `GatewayExchange` tells the arguments."""

    def _read(self, body: bytes) -> AnswerRequest:
        return read_count_request(body)

    async def _answer(self, request: AnswerRequest, send: Send) -> None:
        model = self._models.find(request.model)
        drop_foreign(request, may_drop=self._limits.drops_options)
        if not isinstance(model, BaseChatModel) or isinstance(request.input, str):
            message = f"the model {request.model!r} counts no tokens; ask it at /v1/messages, or count them yourself"
            raise Refusal(status=400, message=message, code="model_not_supported_here", param="model")
        count = await _count(model, request.input, request.tools.get("tools"))
        await self._send_json(send, encode_json({"input_tokens": int(count)}))


async def _count(model: BaseChatModel, messages: list[BaseMessage], tools: list[Fields] | None) -> int:
    """Return how many tokens a conversation has: the provider's count, where it counts, or one that is made here."""
    if isinstance(model, RemoteChatModel):
        try:
            return await model.aget_num_tokens_from_messages(messages, tools, exact=True)
        except Unsupported:
            pass
    return await ASYNC.call_sync(model.get_num_tokens_from_messages, messages, tools)
