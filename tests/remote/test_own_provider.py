"""What the shared room does for a provider of somebody's own: further fields and headers, signatures, hints."""

import hashlib
import hmac
from collections.abc import Mapping
from typing import Any, ClassVar

import pytest
from pydantic import BaseModel

from hocket.errors import AuthenticationError, InvalidHook, InvalidInput, InvalidReply, Unsupported
from hocket.http.request import HTTPReply, HTTPRequest
from hocket.language_models.options import ChatOptions
from hocket.messages import AIMessage
from hocket.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from hocket.remote import Endpoint, RemoteChatModel, RemoteEmbeddings, StreamDecoder
from hocket.retries import RetryPolicy
from hocket.testing import Body, OpenAIFormat, ReceivedRequest, Status, serve


class KelpOptions(ChatOptions):
    """All that models share."""

    model: str = "small"


class ChatKelp(KelpOptions, RemoteChatModel):
    """It writes no more than the conversation, and signs what it sends."""

    _options: ClassVar = KelpOptions
    _endpoint: ClassVar = Endpoint(name="kelp", hosts=("127.0.0.1",), key_variables=("KELP_KEY",))
    _merged_fields: ClassVar = frozenset({"knobs"})

    def _request(self, messages: Any, options: KelpOptions, *, stream: bool) -> HTTPRequest:
        body = {"said": [message.text for message in messages], "stream": stream, "knobs": {"a": 1, "b": 1}}
        return self._post(self._url("talk"), body, {"x-kelp": "1"})

    def _sign(self, request: HTTPRequest, key: str) -> Mapping[str, str]:
        return {"x-signature": sign(key, request.headers["x-kelp"], request.content)}

    def _decode(self, reply: HTTPReply) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=AIMessage(reply.content.decode()))])

    def _decoder(self, headers: Mapping[str, str]) -> StreamDecoder[ChatGenerationChunk]:
        raise NotImplementedError

    @property
    def _llm_type(self) -> str:
        return "kelp"


def sign(key: str, header: str, content: bytes) -> str:
    return hmac.new(key.encode(), header.encode() + content, hashlib.sha256).hexdigest()


def make(**fields: Any) -> ChatKelp:
    defaults: dict[str, Any] = {"base_url": "http://127.0.0.1:9", "api_key": "k-secret"}
    return ChatKelp(**(defaults | fields))


def test_further_fields_go_over_the_body_of_any_provider() -> None:
    """Those of the model, and over them those of the call; a provider does nothing for it."""
    assert make().render("Hi", extra_body={"tempo": 1}).json["tempo"] == 1
    body = make(extra_body={"tempo": 1, "said": ["x"]}).render("Hi", extra_body={"tempo": 2, "knobs": {"b": 2}}).json
    assert body == {"said": ["x"], "stream": False, "knobs": {"a": 1, "b": 2}, "tempo": 2}
    assert make().render("Hi", extra_headers={"X-Kelp": "2"}).headers["x-kelp"] == "2"


def test_further_fields_that_cannot_be_added_are_refused() -> None:
    """Because of what they are, or because the body is no object."""
    with pytest.raises(InvalidInput, match="the knobs of extra_body are list, not a dict"):
        make().render("Hi", extra_body={"knobs": [1]})
    with pytest.raises(InvalidInput, match="cannot be written as JSON"):
        make().render("Hi", extra_body={"a": object()})

    class ChatLines(ChatKelp):
        def _request(self, messages: Any, options: KelpOptions, *, stream: bool) -> HTTPRequest:
            return HTTPRequest("POST", self._url("talk"), {"x-kelp": "1"}, b"1\n2\n")

    with pytest.raises(InvalidInput, match=r"kelp takes no extra_body: .* no JSON object"):
        ChatLines(base_url="http://127.0.0.1:9", api_key="k").render("Hi", extra_body={"tempo": 1})


async def test_a_signature_is_made_of_what_is_sent_and_anew_for_each_attempt(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the key of the environment, over the body with its further fields, and the headers of the call."""
    monkeypatch.setenv("KELP_KEY", "k-from-outside")
    script = [Status(503), Body({"ok": True})]
    async with serve(OpenAIFormat(), script) as server:
        model = ChatKelp(base_url=server.url, retry=RetryPolicy(max_attempts=2, first_pause=0))
        await model.ainvoke("Hi", extra_body={"tempo": 1}, extra_headers={"x-kelp": "2"})
    assert [request.headers["x-signature"] for request in server.requests] == [
        sign("k-from-outside", "2", request.body) for request in server.requests
    ]
    assert b'"tempo":1' in server.requests[0].body and len(server.requests) == 2


async def test_a_signature_is_shown_nowhere() -> None:
    """Neither by `render`, nor by an error that repeats it."""
    assert make().render("Hi").headers["x-signature"] == "**********"
    assert make(api_key=lambda: "k").render("Hi").headers["x-signature"] == "**********"

    def repeat(request: ReceivedRequest) -> Status:
        return Status(401, f"wrong: {request.headers['x-signature']}")

    async with serve(OpenAIFormat(), repeat) as server:
        with pytest.raises(AuthenticationError) as caught:
            await make(base_url=server.url).ainvoke("Hi")
    assert server.requests[0].headers["x-signature"] not in str(caught.value)
    assert "no key was sent" not in str(caught.value)


class PlainOptions(BaseModel):
    """Options without `extra_body`."""

    model: str = "small"
    heat: float | None = None


class ChatPlain(PlainOptions, ChatKelp):
    _options: ClassVar = PlainOptions


@pytest.mark.parametrize(
    ("option", "told"),
    [
        ({"heet": 1}, "there is no option 'heet'; did you mean 'heat'?"),
        ({"metadata": {}}, "there is no option 'metadata'; known are: model, heat, extra_headers"),
    ],
)
def test_a_hint_names_extra_body_only_where_it_is_taken(option: dict[str, Any], told: str) -> None:
    """Whatever is misspelt."""
    plain = ChatPlain(base_url="http://127.0.0.1:9", api_key="k")
    with pytest.raises(InvalidInput) as caught:
        plain.render("Hi", **option)
    assert str(caught.value) == told
    with pytest.raises(Unsupported, match=r"kelp takes no extra_body: leave it out, or have it left out with [^;]*$"):
        plain.render("Hi", extra_body={"tempo": 1})


@pytest.mark.parametrize(
    ("field", "value", "form"),
    [
        ("account_variables", {"secret": ("KELP_SECRET",)}, r"\{'secret': 'KELP_SECRET'\}"),
        ("query_variables", ("KELP_SECRET",), r"\{'secret': 'KELP_SECRET'\}"),
        ("key_variables", "KELP_KEY", r"\('KELP_KEY',\), a tuple"),
        ("hosts", ["kelp.example"], r"\('kelp.example',\), a tuple"),
        ("url_variable", ("KELP_BASE_URL",), "'KELP_BASE_URL'"),
        ("name", None, "'kelp'"),
    ],
)
def test_an_endpoint_checks_its_fields(field: str, value: Any, form: str) -> None:
    """When it is made, by name and with an example, and not when the environment is read."""
    fields: dict[str, Any] = {"name": "kelp", field: value}
    with pytest.raises(InvalidInput, match=rf"an Endpoint's {field} is .*, and must look like {form}"):
        Endpoint(**fields)


def make_async(value: object) -> Any:
    async def give(self: Any, request: Any) -> Any:
        return value

    return give


MISTAKES: list[tuple[str, Any, str]] = [
    ("_authenticate", lambda self, request: {}, "returned dict; it must return an awaitable: define it with async def"),
    ("_authenticate", make_async(None), "returned NoneType; it must return a mapping of headers"),
    ("_request", lambda self, messages, options, *, stream: {}, "returned dict; it must return HTTPRequest"),
    ("_decode", lambda self, reply: AIMessage("x"), "returned AIMessage; it must return ChatResult"),
    ("_decode", lambda self: None, "does not take what it is given: .* takes 1 positional argument but 2 were given"),
    ("_read_failure", lambda self, reply: None, "does not take what it is given: "),
    ("_read_failure", lambda self, reply, secrets: None, "returned NoneType; it must return LLMError"),
]


@pytest.mark.parametrize(("hook", "mistake", "told"), MISTAKES)
async def test_a_mistake_in_a_hook_is_not_the_servers(hook: str, mistake: Any, told: str) -> None:
    """What a hook takes and returns is named, and whose it is; no server is said to have sent nonsense."""
    mistake.__qualname__ = f"ChatMistaken.{hook}"
    mistaken = type("ChatMistaken", (ChatKelp,), {hook: mistake, "__module__": __name__})
    turn = Status(400, "no") if hook == "_read_failure" else Body({"ok": True})
    async with serve(OpenAIFormat(), turn) as server:
        with pytest.raises(InvalidHook, match=f"ChatMistaken.{hook} {told}"):
            await mistaken(base_url=server.url, api_key="k-secret").ainvoke("Hi")


async def test_a_mistake_in_a_hook_of_embeddings_is_not_the_servers() -> None:
    """As with chat models."""

    class KelpEmbeddings(RemoteEmbeddings):
        _endpoint: ClassVar = Endpoint(name="kelp", needs_key=False)

        def _request(self, texts: Any) -> HTTPRequest:
            return self._post(self._url("vectors"), {"texts": texts})

        def _decode(self, reply: HTTPReply) -> Any:
            return [[0.0]]

    async with serve(OpenAIFormat(), Body({"ok": True})) as server:
        with pytest.raises(InvalidHook, match=r"KelpEmbeddings._decode returned list; it must return EmbeddingResult"):
            await KelpEmbeddings(base_url=server.url).aembed(["a"])


async def test_nonsense_of_a_server_is_not_the_hooks() -> None:
    """A `TypeError` inside of a hook that reads a reply says that the reply has another shape."""

    class ChatStrict(ChatKelp):
        def _decode(self, reply: HTTPReply) -> ChatResult:
            return reply.json["said"]["text"]  # type: ignore[attr-defined, no-any-return]

    async with serve(OpenAIFormat(), Body({"said": ["x"]})) as server:
        with pytest.raises(InvalidReply):
            await ChatStrict(base_url=server.url, api_key="k").ainvoke("Hi")
