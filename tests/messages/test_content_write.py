"""Standard blocks, written as a provider's own content, and read again."""

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given, strategies as st

from hocket.errors import InvalidInput, Unsupported
from hocket.messages import AIMessage
from hocket.messages.content_validate import validate_content_block
from hocket.messages.formats import ContentFormat, content_blocks_of, native_content
from hocket.messages.formats.known import WRITES

FIXTURES = Path(__file__).parent.parent / "fixtures"


def read(content: list[Any]) -> list[Any]:
    return list(content_blocks_of(content, additional_kwargs={}, response_metadata={}))


def write(blocks: list[Any], format: ContentFormat) -> list[dict[str, Any]]:
    before = copy.deepcopy(blocks)
    native = native_content(blocks, format)
    assert blocks == before, "the blocks were changed"
    return native


def spoken(value: Any) -> Any:
    """Without nulls, which say nothing."""
    if isinstance(value, dict):
        return {key: spoken(item) for key, item in value.items() if item is not None}
    return [spoken(item) for item in value] if isinstance(value, list) else value


# What servers sent


def events(exchange: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for line in exchange.get("sse", "").splitlines():
        if line.startswith("data: {"):
            yield json.loads(line.removeprefix("data: "))


def replies(provider: str, exchange: dict[str, Any]) -> Iterator[list[Any]]:
    """The contents of the replies of one recorded exchange."""
    body = exchange.get("body")
    bodies = [*([body] if isinstance(body, dict) else []), *events(exchange)]
    for body in bodies:
        match provider:
            case "anthropic":
                yield body.get("content") or ([body["content_block"]] if "content_block" in body else [])
            case "gemini":
                yield from ((each.get("content") or {}).get("parts", []) for each in body.get("candidates", []))
            case "cohere_v2" | "mistral" | "ollama":
                choices = body.get("choices") or [body]
                message = choices[0].get("message") or choices[0].get("delta")
                content = message.get("content") if isinstance(message, dict) else None  # of an error it is a text
                yield content if isinstance(content, list) else []
            case _:
                yield body.get("output") or (body.get("response") or {}).get("output") or []
                yield [body["item"]] if body.get("type") == "response.output_item.done" else []


def recorded() -> Iterator[Any]:
    formats = {
        "anthropic": "anthropic",
        "gemini": "google",
        "openai_responses": "openai_responses",
        "mistral": "mistral",
        "cohere_v2": "cohere",
    }
    for provider, format in formats.items():
        for path in sorted((FIXTURES / provider).glob("*.json")):
            fixture = json.loads(path.read_text())
            exchanges = fixture["response"] if isinstance(fixture["response"], list) else [fixture["response"]]
            contents = [content for each in exchanges for content in replies(provider, each) if content]
            if contents:
                yield pytest.param(format, contents, id=f"{provider}-{path.stem}")


@pytest.mark.parametrize(("format", "contents"), [*recorded()])
def test_a_recorded_reply_comes_back_as_it_was(format: ContentFormat, contents: list[list[Any]]) -> None:
    """Read as standard blocks and written again, everything that a server sent is equal, nulls aside."""
    for content in contents:
        assert spoken(write(read(content), format)) == spoken(content)


def test_a_recorded_prompt_comes_back_as_it_was() -> None:
    """What a user sends of text, pictures, recordings and files, in the words of several APIs."""
    for path, format in (
        ("openai_chat/multimodal_parts.json", "openai_chat"),
        ("anthropic/full_conversation.json", "anthropic"),
        ("openai_responses/full_conversation.json", "openai_responses_input"),
        ("mistral/full_conversation.json", "mistral"),
        ("mistral/thinking_chunks.json", "mistral"),
    ):
        body = json.loads((FIXTURES / path).read_text())["request"]["body"]
        contents = [each["content"] for each in body.get("messages") or body["input"] if each.get("role") == "user"]
        parts = [part for content in contents if isinstance(content, list) for part in content]
        parts = [part for part in parts if part["type"] != "tool_result"]
        assert len(parts) >= 2
        assert write(read(parts), format) == parts  # type: ignore[arg-type]


def test_what_cohere_and_mistral_put_into_a_conversation_comes_back_as_it_was() -> None:
    """Reasoning in a reply, documents in a tool's result."""
    for path, format in (
        ("cohere_v2/full_conversation.json", "cohere"),
        ("cohere_v2/thinking_documents.json", "cohere"),
        ("mistral/thinking_chunks.json", "mistral"),
    ):
        messages = json.loads((FIXTURES / path).read_text())["request"]["body"]["messages"]
        contents = [each["content"] for each in messages if isinstance(each.get("content"), list)]
        assert contents
        for content in contents:
            assert write(read(content), format) == content  # type: ignore[arg-type]


def test_a_message_of_ollama_has_one_text() -> None:
    """Pictures and reasoning are fields beside it; what it has no field for is refused."""
    body = json.loads((FIXTURES / "ollama/full_conversation.json").read_text())
    user = body["request"]["body"]["messages"][1]
    blocks = content_blocks_of(user["content"], additional_kwargs={"images": user["images"]}, response_metadata={})
    assert [block["type"] for block in blocks] == ["text", "image"]
    assert write([*blocks], "ollama") == [{"content": user["content"], "images": user["images"]}]
    reply = body["response"]["body"]["message"]
    blocks = content_blocks_of(
        reply["content"], additional_kwargs={"thinking": reply["thinking"]}, response_metadata={}
    )
    assert [*blocks] == [
        {"type": "reasoning", "reasoning": "Easy."},
        {"type": "text", "text": "Rome: 25 C."},
    ]
    assert write([*blocks], "ollama") == [{"content": "Rome: 25 C.", "thinking": "Easy."}]
    with pytest.raises(Unsupported, match="'image'"):
        write([{"type": "image", "url": "https://e.x/a.png"}], "ollama")


def test_every_format_that_can_be_written_is_named() -> None:
    """The names that type checkers know are those that there are."""
    assert {*WRITES} == {*get_args(ContentFormat)}


# What no fixture holds


@pytest.mark.parametrize(
    ("format", "native"),
    [
        ("anthropic", {"type": "redacted_thinking", "data": "EmwKAhgB"}),
        ("anthropic", {"type": "thinking", "thinking": "", "signature": "EqQB+/=="}),
        ("anthropic", {"type": "text", "text": "a", "cache_control": {"type": "ephemeral"}}),
        ("anthropic", {"type": "image", "source": {"type": "file", "file_id": "f"}, "cache_control": {}}),
        (
            "anthropic",
            {"type": "document", "source": {"type": "url", "url": "https://e.x/a.pdf", "new": 1}, "title": "T"},
        ),
        ("anthropic", {"type": "document", "source": {"type": "content", "content": "x"}}),
        (
            "anthropic",
            {
                "type": "document",
                "source": {"type": "text", "media_type": "text/plain", "data": "n"},
                "title": "T",
                "citations": {"enabled": True},
            },
        ),
        ("anthropic", {"type": "document", "source": {"type": "text", "media_type": "text/csv", "data": "1,2"}}),
        ("anthropic", {"type": "mcp_tool_use", "id": "m", "name": "look", "server_name": "s", "input": {"a": 1}}),
        (
            "anthropic",
            {"type": "mcp_tool_result", "tool_use_id": "m", "is_error": False, "content": [{"type": "text"}]},
        ),
        ("anthropic", {"type": "server_tool_use", "id": "s", "name": "code_execution", "input": {"code": "1"}}),
        (
            "anthropic",
            {"type": "text", "text": "a", "citations": [{"type": "char_location", "cited_text": "tx", "unmarked": 1}]},
        ),
        (
            "mistral",
            {"type": "thinking", "thinking": [{"type": "text", "text": "a"}], "closed": True, "signature": "s"},
        ),
        ("mistral", {"type": "thinking", "thinking": [{"type": "text", "text": "a"}, {"type": "reference", "n": 1}]}),
        ("mistral", {"type": "thinking", "thinking": []}),
        ("mistral", {"type": "reference", "reference_ids": [1, 2]}),
        ("mistral", {"type": "document_url", "document_url": "https://e.x/a.pdf", "document_name": "a"}),
        ("mistral", {"type": "image_url", "image_url": {"url": "https://e.x/a.png", "detail": "low"}}),
        ("mistral", {"type": "input_audio", "input_audio": "UklGRiQAAABXQVZFZm10IA=="}),
        ("mistral", {"type": "input_audio", "input_audio": "AAAA"}),
        ("mistral", {"type": "file", "file_id": "f-1"}),
        ("cohere", {"type": "document", "document": {"id": "d", "data": {"title": "T", "text": "t", "n": 1}}}),
        ("cohere", {"type": "document", "document": {"data": "plain"}}),
        ("cohere", {"type": "document", "document": {"data": {"temp": "21"}, "id": "d1"}}),
        ("cohere", {"type": "document", "document": {"data": [1, 2]}}),
        ("google", {"text": "", "thoughtSignature": "Q2tFQg=="}),
        ("google", {"text": "hm", "thought": True, "thoughtSignature": "Q2tFQg=="}),
        (
            "google",
            {"inlineData": {"mimeType": "image/png", "data": "AA==", "displayName": "a"}, "thoughtSignature": "Q"},
        ),
        ("google", {"fileData": {"mimeType": "video/mp4", "fileUri": "https://e.x/v"}, "videoMetadata": {"fps": 1}}),
        ("google", {"fileData": {"fileUri": "files/abc"}}),
        ("google", {"functionCall": {"name": "f", "args": {}, "willContinue": True}, "thoughtSignature": "Q"}),
        ("google", {"executableCode": {"id": "c", "language": "PYTHON", "code": "1+1"}, "thoughtSignature": "Q"}),
        ("google", {"codeExecutionResult": {"id": "c", "outcome": "OUTCOME_FAILED", "output": "no"}}),
        ("google", {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "2", "new": 1}}),
        ("google", {"executableCode": {"language": "PYTHON", "code": "1+1", "new": 1}}),
        ("google", {"toolCall": {"id": "t", "toolType": "GOOGLE_SEARCH"}, "thoughtSignature": "Q"}),
        ("converse", {"text": "a"}),
        ("converse", {"reasoningContent": {"reasoningText": {"text": "hm", "signature": "s"}}}),
        ("converse", {"reasoningContent": {"redactedContent": "AAAA"}}),
        ("converse", {"toolUse": {"toolUseId": "t", "name": "f", "input": {"a": 1}}}),
        ("converse", {"image": {"format": "png", "source": {"bytes": "AAAA"}}}),
        ("converse", {"image": {"format": "png", "source": {"s3Location": {"uri": "s3://b/a", "bucketOwner": "1"}}}}),
        ("converse", {"video": {"format": "three_gp", "source": {"s3Location": {"uri": "s3://b/a"}}}}),
        ("converse", {"audio": {"format": "mp3", "source": {"bytes": "AAAA"}}}),
        (
            "converse",
            {"document": {"format": "docx", "name": "a", "citations": {"enabled": True}, "source": {"bytes": "AAAA"}}},
        ),
        ("converse", {"document": {"format": "txt", "name": "a", "context": "c", "source": {"text": "t"}}}),
        ("converse", {"guardContent": {"text": {"text": "a"}}}),
        ("converse", {"cachePoint": {"type": "default"}}),
        ("openai_chat", {"type": "refusal", "refusal": "No."}),
        ("openai_chat", {"type": "image_url", "image_url": {"url": "https://e.x", "detail": "low", "x": 1}, "y": 2}),
        ("openai_chat", {"type": "file", "file": {"file_data": "data:image/png;base64,AA==", "filename": "a.png"}}),
        ("openai_responses_input", {"type": "input_image", "file_id": "f", "detail": "high"}),
        ("openai_responses_input", {"type": "input_file", "file_url": "https://e.x/a.pdf"}),
        (
            "openai_responses_input",
            {"type": "input_file", "file_data": "data:text/plain;base64,aGk=", "filename": "a.txt"},
        ),
        ("openai_responses", {"type": "reasoning", "id": "rs", "summary": [], "encrypted_content": "gA=="}),
        (
            "openai_responses",
            {"type": "reasoning", "id": "rs", "summary": [], "content": [{"type": "reasoning_text", "text": "hm"}]},
        ),
        (
            "openai_responses",
            {
                "type": "reasoning",
                "id": "rs",
                "summary": [{"type": "summary_text", "text": "a"}, {"type": "summary_text", "text": "b"}],
                "content": [{"type": "reasoning_text", "text": "hm"}],
                "status": "completed",
            },
        ),
        (
            "openai_responses",
            {
                "type": "message",
                "role": "assistant",
                "id": "msg",
                "status": "completed",
                "content": [
                    {"type": "output_text", "text": "a", "annotations": [{"type": "file_path", "file_id": "f"}]},
                    {"type": "refusal", "refusal": "No."},
                    {
                        "type": "output_text",
                        "text": "b",
                        "annotations": [{"type": "file_citation", "file_id": "f", "filename": "a.pdf", "index": 0}],
                    },
                ],
            },
        ),
        (
            "openai_responses",
            {"type": "function_call", "id": "fc", "call_id": "c", "name": "f", "arguments": '{"a" :  1}'},
        ),
        ("openai_responses", {"type": "function_call", "call_id": "c", "name": "f", "arguments": ""}),
        ("openai_responses", {"type": "function_call", "id": "fc", "call_id": "c", "name": "f", "arguments": '{"a'}),
        ("openai_responses", {"type": "web_search_call", "id": "w", "status": "in_progress"}),
        ("openai_responses", {"type": "file_search_call", "id": "w", "status": "failed", "queries": ["q"]}),
        (
            "openai_responses",
            {"type": "mcp_call", "id": "m", "name": "t", "arguments": '{"a', "error": "bad", "server_label": "s"},
        ),
        ("openai_responses", {"type": "computer_call", "id": "cc", "action": {"type": "click"}}),
    ],
)
def test_native_content_comes_back_as_it_was(format: ContentFormat, native: dict[str, Any]) -> None:
    """Signatures, encrypted reasoning, citations, sources and arguments that no one can read: byte for byte."""
    assert write(read([native]), format) == [native]


def test_edited_arguments_take_the_place_of_the_models_text() -> None:
    """The text of a call's arguments goes back only while it says what the arguments say."""
    item = {"type": "function_call", "call_id": "c", "name": "f", "arguments": '{"a":  1}'}
    message = AIMessage([item], tool_calls=[{"name": "f", "args": {"a": 2}, "id": "c"}])
    assert write(message.content_blocks, "openai_responses")[0]["arguments"] == '{"a":2}'


def test_a_streamed_item_is_written_without_its_place_in_the_stream() -> None:
    """`index` and ids that were made up on this side are not sent."""
    item = {
        "type": "message",
        "role": "assistant",
        "content": [{"type": "output_text", "text": "a", "annotations": []}],
    }
    assert write(read([{**item, "index": 3}]), "openai_responses") == [item]
    assert write([{"type": "text", "text": "a", "id": "lc_1", "index": 0}], "anthropic") == [
        {"type": "text", "text": "a"}
    ]
    call = {"type": "tool_call", "id": "lc_1", "name": "f", "args": {}}
    assert write([call], "google") == [{"functionCall": {"name": "f", "args": {}}}]


@pytest.mark.parametrize(
    ("format", "block"),
    [
        ("anthropic", {"type": "audio", "base64": "AA==", "mime_type": "audio/wav"}),
        ("anthropic", {"type": "tool_call_chunk", "id": "1", "name": "f", "args": "{"}),
        ("anthropic", {"type": "server_tool_result", "tool_call_id": "ws", "status": "success"}),
        ("google", {"type": "server_tool_call", "id": "1", "name": "web_search", "args": {}}),
        ("google", {"type": "server_tool_result", "tool_call_id": "ws", "status": "success"}),
        ("openai_chat", {"type": "reasoning", "reasoning": "hm"}),
        ("openai_chat", {"type": "image", "file_id": "f"}),
        ("openai_chat", {"type": "file", "url": "https://e.x/a.pdf"}),
        ("openai_chat", {"type": "audio", "url": "https://e.x/a.wav"}),
        ("openai_responses", {"type": "image", "url": "https://e.x"}),
        ("openai_responses", {"type": "server_tool_call", "id": "1", "name": "unheard of", "args": {}}),
        ("openai_responses", {"type": "server_tool_result", "tool_call_id": "1", "status": "success"}),
        ("openai_responses_input", {"type": "video", "url": "https://e.x"}),
    ],
)
def test_what_has_no_place_is_refused(format: ContentFormat, block: dict[str, Any]) -> None:
    """Nothing is dropped: the error names the type of the block that the format does not know."""
    with pytest.raises(Unsupported, match=repr(block["type"])):
        write([block], format)


def test_a_search_of_anothers_is_refused() -> None:
    """OpenAI has a tool of the same name, whose results look otherwise."""
    search = {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {"query": "q"}}
    result = {"type": "web_search_tool_result", "tool_use_id": "s", "content": [{"type": "web_search_result"}]}
    with pytest.raises(Unsupported, match="'server_tool_call'"):
        write(read([search, result]), "openai_responses")


@pytest.mark.parametrize(
    "block",
    [
        {"type": "text"},
        {"type": "text", "text": "a", "annotations": 3},
        {"type": "text", "text": "a", "extras": 3},
        {"type": "tool_call", "id": "1", "args": {}},
    ],
)
@pytest.mark.parametrize("format", ["anthropic", "openai_responses"])
def test_a_malformed_block_is_refused_by_field(format: ContentFormat, block: dict[str, Any]) -> None:
    """Not by an accident on the way."""
    with pytest.raises(InvalidInput, match=f"Malformed '{block['type']}' content block"):
        write([block], format)


@pytest.mark.parametrize("format", ["anthropic", "google", "openai_chat", "openai_responses_input"])
def test_data_need_a_source_and_a_type(format: ContentFormat) -> None:
    """A block without data, or with bytes of unknown type, is refused before it is sent."""
    with pytest.raises(InvalidInput, match="holds no data"):
        write([{"type": "image"}], format)
    with pytest.raises(InvalidInput, match="no mime_type"):
        write([{"type": "image", "base64": "AA=="}], format)


@pytest.mark.parametrize("format", ["anthropic", "google", "openai_responses"])
def test_extras_never_take_the_place_of_a_field(format: ContentFormat) -> None:
    """What a block says of itself counts, whatever its extras are called."""
    call = {"type": "tool_call", "id": "1", "name": "f", "args": {}}
    odd = {**call, "extras": {"type": "custom", "name": "g", "input": {"a": 1}, "functionCall": {}, "call_id": "2"}}
    assert write([odd], format)[0].items() >= write([call], format)[0].items()


def test_a_data_url_is_what_it_holds() -> None:
    """A block may give its data as a URL; formats that want them apart get them apart."""
    image = {"type": "image", "url": "data:image/png;base64,AA=="}
    assert write([image], "anthropic")[0]["source"] == {"type": "base64", "media_type": "image/png", "data": "AA=="}
    assert write([image], "google") == [{"inlineData": {"mimeType": "image/png", "data": "AA=="}}]
    assert write([image], "openai_chat")[0]["image_url"] == {"url": "data:image/png;base64,AA=="}


@pytest.mark.parametrize("format", ["google", "openai_chat", "openai_responses_input"])
def test_a_document_is_text_where_there_are_no_documents(format: ContentFormat) -> None:
    """Title and context go in front of the text."""
    document = {"type": "text-plain", "mime_type": "text/plain", "text": "notes", "title": "T", "context": "c"}
    assert write([document], format)[0]["text"] == "T\n\nc\n\nnotes"


def test_citations_stay_with_their_provider() -> None:
    """A provider takes only citations that it made, so another's are left out; the text stays."""
    anthropic = read([{"type": "text", "text": "a", "citations": [{"type": "char_location", "cited_text": "t"}]}])
    openai = read(
        [{"type": "output_text", "text": "a", "annotations": [{"type": "url_citation", "url": "https://e.x"}]}]
    )
    assert write(openai, "anthropic") == [{"type": "text", "text": "a"}]
    assert write(anthropic, "openai_responses")[0]["content"][0]["annotations"] == []
    assert write(openai, "openai_chat") == [{"type": "text", "text": "a"}]


# Properties

WORDS = st.text('abc é\n"\\', max_size=6)
NAMES = st.text("abcdef_", min_size=1, max_size=5).map("x_{}".format)
JSON = st.recursive(
    st.booleans() | st.integers(-9, 9) | WORDS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(NAMES, inner, max_size=2),
)
ARGS = st.dictionaries(NAMES, JSON, max_size=3)
URLS = st.sampled_from(["https://e.x/a", "https://e.x/b?c=d"])
BASE64 = st.sampled_from(["AA==", "iVBORw0KGgo="])


def blocks(kind: str, extras: st.SearchStrategy[dict[str, Any]] | None = None, **fields: Any) -> st.SearchStrategy[Any]:
    """Blocks of a kind; a field may be left out where its value is None."""
    given = {name: value if isinstance(value, st.SearchStrategy) else st.just(value) for name, value in fields.items()}
    made = st.fixed_dictionaries({"type": st.just(kind), "extras": st.just({}) if extras is None else extras, **given})
    return made.map(
        lambda block: {
            name: value for name, value in block.items() if (value is not None and value != {}) or name == "args"
        }
    )


def signed(name: str) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({}, optional={name: BASE64, "x_more": JSON})


def citations(extras: st.SearchStrategy[dict[str, Any]], **fields: Any) -> st.SearchStrategy[Any]:
    return blocks("citation", extras, **fields)


OWN = st.builds(lambda value: {"type": "non_standard", "value": {"type": "zzz", **value}}, ARGS)
STRANGE_NOTE = st.builds(lambda value: {"type": "non_standard_annotation", "value": {"type": "zzz", **value}}, ARGS)
CALL = st.builds(lambda at: f"call_{at}", st.integers(0, 99))

ANTHROPIC = st.one_of(
    blocks("text", text=WORDS),
    blocks(
        "text",
        signed("cache_control"),
        text=WORDS,
        annotations=st.lists(
            STRANGE_NOTE
            | citations(
                st.fixed_dictionaries({"start_char_index": st.integers(0, 9)}),
                cited_text=WORDS,
                title=st.none() | NAMES,
            )
            | citations(st.fixed_dictionaries({"encrypted_index": BASE64}), cited_text=WORDS, url=URLS)
            | citations(st.fixed_dictionaries({"type": st.just("page_location")}), cited_text=WORDS, title=NAMES),
            min_size=1,
            max_size=3,
        ),
    ),
    blocks("reasoning", signed("signature"), reasoning=WORDS),
    *(
        blocks(kind, signed("cache_control"), **source)
        for kind in ("image", "file")
        for source in (
            {"url": URLS},
            {"file_id": NAMES},
            {"base64": BASE64, "mime_type": "image/png" if kind == "image" else "application/pdf"},
        )
    ),
    blocks("text-plain", signed("citations"), text=NAMES, mime_type="text/plain", title=st.none() | NAMES),
    blocks("tool_call", signed("cache_control"), id=CALL, name=NAMES, args=ARGS),
    blocks("server_tool_call", id=CALL, name=st.sampled_from(["web_search", "code_interpreter"]), args=ARGS),
    blocks(
        "server_tool_result",
        st.fixed_dictionaries({"block_type": st.just("web_search_tool_result")}, optional={"x_more": JSON}),
        tool_call_id=CALL,
        status="success",
        output=st.lists(ARGS, max_size=2),
    ),
    OWN,
)
GOOGLE = st.one_of(
    blocks("text", signed("signature"), text=WORDS),
    blocks("reasoning", signed("signature"), reasoning=WORDS),
    *(
        blocks(kind, signed("signature"), mime_type=mime_type, **source)
        for kind, mime_type in (
            ("image", "image/png"),
            ("audio", "audio/wav"),
            ("video", "video/mp4"),
            ("file", "a/pdf"),
        )
        for source in ({"url": URLS}, {"base64": BASE64})
    ),
    blocks("file", file_id=NAMES),
    blocks("tool_call", signed("signature"), id=st.none() | CALL, name=NAMES, args=ARGS).map(
        lambda call: {"id": None, **call}
    ),
    blocks(
        "server_tool_call",
        id=CALL,
        name="code_interpreter",
        args=st.fixed_dictionaries({"code": WORDS, "language": NAMES.map(str.upper)}),
    ),
    blocks(
        "server_tool_result",
        st.just({"block_type": "code_execution_result", "outcome": "OUTCOME_OK"}),
        tool_call_id=CALL,
        status="success",
        output=WORDS,
    ),
    st.builds(lambda value: {"type": "non_standard", "value": {"toolCall": value}}, ARGS),
)
CHAT = st.one_of(
    blocks("text", text=WORDS),
    blocks("image", signed("detail"), url=URLS),
    blocks("image", signed("detail"), base64=BASE64, mime_type="image/png"),
    blocks("audio", base64=BASE64, mime_type=st.sampled_from(["audio/wav", "audio/mp3"])),
    blocks("file", signed("filename"), base64=BASE64, mime_type="application/pdf"),
    blocks("file", file_id=NAMES),
    OWN,
)
INPUT = st.one_of(
    blocks("text", signed("x_own"), text=WORDS),
    blocks("image", signed("detail"), url=URLS),
    blocks("image", signed("detail"), base64=BASE64, mime_type="image/png"),
    blocks("image", file_id=NAMES),
    blocks("file", signed("filename"), base64=BASE64, mime_type="application/pdf"),
    blocks("file", url=URLS),
    blocks("file", file_id=NAMES),
    OWN,
)
NOTES = st.lists(
    STRANGE_NOTE
    | citations(st.just({}), url=URLS, title=NAMES, start_index=st.integers(0, 9), end_index=st.integers(0, 9))
    | citations(st.fixed_dictionaries({"file_id": NAMES, "index": st.integers(0, 9)}), title=NAMES),
    min_size=1,
    max_size=3,
)
ITEMS = st.one_of(
    blocks("text", st.fixed_dictionaries({}, optional={"message": st.just({"phase": "commentary"})}), text=WORDS),
    blocks("text", text=WORDS, annotations=NOTES),
    blocks("reasoning", signed("encrypted_content"), reasoning=WORDS),
    blocks("tool_call", signed("item_id"), name=NAMES, args=ARGS),
    blocks(
        "tool_call",
        st.just({"block_type": "custom_tool_call"}),
        name=NAMES,
        args=st.builds(lambda text: {"__arg1": text}, WORDS),
    ),
    blocks("image", st.just({"block_type": "image_generation_call"}), base64=BASE64, mime_type="image/png"),
    blocks("server_tool_call", signed("server_label"), name=st.sampled_from(["web_search", "remote_mcp"]), args=ARGS),
    OWN,
)


@st.composite
def items(draw: st.DrawFn) -> list[Any]:
    """Blocks of a reply of the Responses API: each item has an id of its own, and a hosted tool its result."""
    made: list[Any] = []
    for at, block in enumerate(draw(st.lists(ITEMS, max_size=5))):
        made.append(block if block["type"] == "non_standard" else {**block, "id": f"id_{at}"})
        if block["type"] == "reasoning" and block["reasoning"]:
            more = draw(st.lists(WORDS, max_size=2))
            made += [{"type": "reasoning", "reasoning": text, "id": f"id_{at}"} for text in more]
        if block["type"] == "text":
            more = draw(st.lists(WORDS, max_size=2))
            made += [{"type": "text", "text": text, "id": f"id_{at}"} for text in more]
        if block["type"] == "server_tool_call":
            output = draw(st.just({"sources": [1]}) if block["name"] == "web_search" else WORDS)
            made.append(
                {"type": "server_tool_result", "tool_call_id": f"id_{at}", "status": "success", "output": output}
            )
    return made


@given(
    st.one_of(
        st.tuples(st.just("anthropic"), st.lists(ANTHROPIC, max_size=5)),
        st.tuples(st.just("google"), st.lists(GOOGLE, max_size=5)),
        st.tuples(st.just("openai_chat"), st.lists(CHAT, max_size=5)),
        st.tuples(st.just("openai_responses_input"), st.lists(INPUT, max_size=5)),
        st.tuples(st.just("openai_responses"), items()),
    )
)
def test_standard_blocks_come_back_as_they_were(case: tuple[ContentFormat, list[Any]]) -> None:
    """Whatever a format has a place for is written and read again without loss, order and signatures included."""
    format, standard = case
    for block in standard:
        validate_content_block(block)
    native = write(standard, format)
    assert json.loads(json.dumps(native)) == native
    assert read(native) == standard
