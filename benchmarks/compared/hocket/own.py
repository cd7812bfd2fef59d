from pydantic import BaseModel

from hocket.errors import Unsupported
from hocket.http import JSONLines
from hocket.messages import AIMessageChunk
from hocket.outputs import ChatGenerationChunk
from hocket.remote import Endpoint, RemoteChatModel, StreamDecoder, make_usage, normalize_finish

ROLES = {"system": "house", "human": "guest", "ai": "host"}


def encode(messages):
    for message in messages:
        if message.type not in ROLES:
            raise Unsupported(f"Echo takes no message of type {message.type!r}")
    return {"prompt": [{"who": ROLES[message.type], "text": message.text} for message in messages]}


class EchoDecoder(StreamDecoder):
    framing = JSONLines

    def read(self, data, event):
        self.done = self.ended = data.get("done", False)
        if not self.done:
            return ChatGenerationChunk(message=AIMessageChunk(data["piece"]))
        usage, facts = make_usage(0, data["tokens"]), normalize_finish("done", {"done": "stop"})
        return ChatGenerationChunk(message=AIMessageChunk("", usage_metadata=usage, response_metadata=facts))


class ChatEcho(RemoteChatModel):
    _options = BaseModel
    _endpoint = Endpoint(name="echo", needs_key=False)

    def _request(self, messages, options, *, stream):
        return self._post(self._url("generate"), encode(messages))

    def _decoder(self, headers):
        return EchoDecoder("echo", headers)

    @property
    def _llm_type(self):
        return "echo"
