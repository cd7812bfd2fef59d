"""Reading any provider's content as standard blocks."""

import contextlib
import copy
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, strategies as st

from hocket.errors import InvalidInput, Unsupported
from hocket.messages import (
    AIMessage,
    convert_to_openai_messages,
    count_tokens_approximately,
    filter_messages,
    get_buffer_string,
    merge_message_runs,
    repair_history,
    trim_messages,
)
from hocket.messages.content import KNOWN_BLOCK_TYPES
from hocket.messages.content_validate import validate_content_block
from hocket.messages.formats import content_blocks_of, native_content, normalize_input_content
from hocket.messages.formats.view import _PARTS, _READERS
from hocket.messages.tool_calls import invalid_tool_call, tool_call, tool_call_chunk

PNG = "iVBORw0KGgo="
IMAGE = {"type": "image", "base64": PNG, "mime_type": "image/png"}


def view(content: str | Sequence[Any], **message: Any) -> list[Any]:
    message = {"additional_kwargs": {}, "response_metadata": {}, **message}
    before = copy.deepcopy((content, message))
    blocks = content_blocks_of(content, **message)
    assert (content, message) == before, "the input was changed"
    return list(blocks)


def only(native: dict[str, Any]) -> Any:
    """The one block that `native` reads as; the validator has seen it."""
    (block,) = view([native])
    validate_content_block(block)
    return block


# Standard content


def test_text_reads_as_one_text_block() -> None:
    """A string is one text block, an empty one none; strings in a list are text blocks in their places."""
    assert view("hi") == [{"type": "text", "text": "hi"}]
    assert view("") == []
    assert view(["a", {"type": "text", "text": "b"}]) == [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]


def test_standard_blocks_pass_as_they_are() -> None:
    """A standard block is handed out itself, keys that nobody knows included."""
    blocks = [
        {"type": "text", "text": "a", "cache_control": {"type": "ephemeral"}},
        {"type": "reasoning", "reasoning": "r", "extras": {"signature": "s"}},
        {"type": "image", "url": "https://e.x/i.png"},
        {"type": "video", "file_id": "f"},
        {"type": "audio", "base64": "UklG", "mime_type": "audio/wav"},
        {"type": "file", "url": "https://e.x/a.pdf"},
        {"type": "text-plain", "text": "t", "mime_type": "text/plain"},
        {"type": "server_tool_call", "id": "1", "name": "n", "args": {}},
        {"type": "server_tool_result", "tool_call_id": "1", "status": "success"},
        {"type": "text", "text": "c", "annotations": [{"type": "citation", "url": "https://e.x"}]},
        {"type": "non_standard", "value": {"type": "image_url", "image_url": {"url": "https://e.x"}}},
    ]
    assert all(read is block for read, block in zip(view(blocks), blocks, strict=True))


def test_content_marked_v1_is_not_translated() -> None:
    """`output_version="v1"` says that the content is standard; calls missing from it are still added."""
    standard = {"type": "text", "text": "a", "citations": "mine"}
    blocks = view(
        [standard], response_metadata={"output_version": "v1"}, tool_calls=[tool_call(name="f", args={}, id="1")]
    )
    assert blocks[0] is standard
    assert blocks[1]["type"] == "tool_call"


@pytest.mark.parametrize(
    "native",
    [
        {"type": "zzz", "payload": [1, {"deep": None}]},
        {"type": "refusal", "refusal": "I cannot help."},
        {"type": "redacted_thinking", "data": "EmwK"},
        {"type": "tool_result", "tool_use_id": "1", "content": "21"},
        {"type": "image_url"},
        {"type": "image", "source": {"type": "unheard-of"}},
        {"type": "file", "source_type": "unheard-of"},
        {"type": ["unhashable"]},
        {"nothing": "known"},
        {},
    ],
)
def test_what_nobody_can_read_is_kept_whole(native: dict[str, Any]) -> None:
    """An unknown or unreadable block becomes non_standard, without loss."""
    assert only(native) == {"type": "non_standard", "value": native}


# Data


@pytest.mark.parametrize(
    "native",
    [
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}},
        {"type": "image_url", "image_url": f"data:image/png;base64,{PNG}"},
        {"type": "input_image", "image_url": f"data:image/png;base64,{PNG}"},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}},
        {"type": "image", "source_type": "base64", "mime_type": "image/png", "data": PNG},
        {"type": "media", "mime_type": "image/png", "data": PNG},
        {"inlineData": {"mimeType": "image/png", "data": PNG}},
        {"inline_data": {"mime_type": "image/png", "data": PNG}},
        {"image": {"format": "png", "source": {"bytes": bytes.fromhex("89504e470d0a1a0a")}}},
    ],
)
def test_an_image_reads_the_same_from_every_provider(native: dict[str, Any]) -> None:
    """OpenAI, Mistral, Anthropic, LangChain 0.x, Gemini and Converse: one picture, one block."""
    assert only(native) == IMAGE


@pytest.mark.parametrize(
    "native",
    [
        {"type": "image_url", "image_url": {"url": "https://e.x/i.png"}},
        {"type": "input_image", "image_url": "https://e.x/i.png"},
        {"type": "image", "source": {"type": "url", "url": "https://e.x/i.png"}},
        {"type": "image", "source_type": "url", "url": "https://e.x/i.png"},
    ],
)
def test_an_image_url_reads_the_same_from_every_provider(native: dict[str, Any]) -> None:
    """A linked image is one block, whoever's words it is in."""
    assert only(native) == {"type": "image", "url": "https://e.x/i.png"}


@pytest.mark.parametrize(
    "native",
    [
        {"type": "input_image", "file_id": "f"},
        {"type": "image", "source": {"type": "file", "file_id": "f"}},
        {"type": "image", "source_type": "id", "id": "f"},
    ],
)
def test_a_stored_image_reads_the_same_from_every_provider(native: dict[str, Any]) -> None:
    """The id of a stored file is its file_id, never the block's own id."""
    assert only(native) == {"type": "image", "file_id": "f"}


DATA = [
    (
        {"type": "image_url", "image_url": {"url": "https://e.x", "detail": "low"}, "index": 2},
        {"type": "image", "url": "https://e.x", "index": 2, "extras": {"detail": "low"}},
    ),
    (
        {"type": "input_image", "image_url": "https://e.x", "detail": "high"},
        {"type": "image", "url": "https://e.x", "extras": {"detail": "high"}},
    ),
    (
        {"type": "image_url", "image_url": {"url": "data:text/plain,hi"}},
        {"type": "image", "url": "data:text/plain,hi"},
    ),
    (
        {"type": "input_audio", "input_audio": {"data": "UklG", "format": "wav"}},
        {"type": "audio", "base64": "UklG", "mime_type": "audio/wav"},
    ),
    (
        {"type": "file", "file": {"file_data": "data:application/pdf;base64,JVBERg==", "filename": "a.pdf"}},
        {"type": "file", "base64": "JVBERg==", "mime_type": "application/pdf", "extras": {"filename": "a.pdf"}},
    ),
    ({"type": "file", "file": {"file_id": "file-1"}}, {"type": "file", "file_id": "file-1"}),
    (
        {"type": "input_file", "file_data": "data:application/pdf;base64,JVBERg==", "filename": "a.pdf"},
        {"type": "file", "base64": "JVBERg==", "mime_type": "application/pdf", "extras": {"filename": "a.pdf"}},
    ),
    ({"type": "input_file", "file_url": "https://e.x/a.pdf"}, {"type": "file", "url": "https://e.x/a.pdf"}),
    (
        {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "JVBERg=="}},
        {"type": "file", "base64": "JVBERg==", "mime_type": "application/pdf"},
    ),
    (
        {
            "type": "document",
            "source": {"type": "text", "media_type": "text/plain", "data": "notes"},
            "title": "Notes",
            "context": "of the meeting",
            "citations": {"enabled": True},
        },
        {
            "type": "text-plain",
            "text": "notes",
            "mime_type": "text/plain",
            "title": "Notes",
            "context": "of the meeting",
            "extras": {"citations": {"enabled": True}},
        },
    ),
    (
        {"type": "document", "source": {"type": "file", "file_id": "f"}, "cache_control": {"type": "ephemeral"}},
        {"type": "file", "file_id": "f", "extras": {"cache_control": {"type": "ephemeral"}}},
    ),
    (
        {
            "type": "audio",
            "source_type": "base64",
            "data": "UklG",
            "mime_type": "audio/wav",
            "id": "mine",
            "metadata": {},
        },
        {"type": "audio", "base64": "UklG", "mime_type": "audio/wav", "id": "mine", "extras": {"metadata": {}}},
    ),
    (
        {"type": "file", "source_type": "text", "text": "notes", "mime_type": "text/plain"},
        {"type": "text-plain", "text": "notes", "mime_type": "text/plain"},
    ),
    (
        {"type": "text", "source_type": "text", "text": "notes", "mime_type": "text/csv"},
        {"type": "text-plain", "text": "notes", "mime_type": "text/plain", "extras": {"mime_type": "text/csv"}},
    ),
    (
        {"type": "media", "mime_type": "video/mp4", "data": "AAAA"},
        {"type": "video", "base64": "AAAA", "mime_type": "video/mp4"},
    ),
    (
        {"fileData": {"mimeType": "application/pdf", "fileUri": "https://e.x/a"}},
        {"type": "file", "url": "https://e.x/a", "mime_type": "application/pdf"},
    ),
    (
        {"type": "media", "mime_type": "text/plain", "data": b"hi"},
        {"type": "text-plain", "base64": "aGk=", "mime_type": "text/plain"},
    ),
]


@pytest.mark.parametrize(("native", "standard"), DATA)
def test_data_blocks(native: dict[str, Any], standard: dict[str, Any]) -> None:
    """Images, recordings, videos, files and documents keep their source, their type and everything else they say."""
    assert only(native) == standard


# Text and reasoning


def test_anthropic_citations_become_annotations() -> None:
    """Each kind of location is a citation; what has no standard field is in its extras; unknown kinds stay whole."""
    block = only(
        {
            "type": "text",
            "text": "cited",
            "citations": [
                {"type": "char_location", "cited_text": "tx", "document_title": "a", "start_char_index": 0, "x": None},
                {"type": "web_search_result_location", "cited_text": "c", "url": "https://e.x", "encrypted_index": "E"},
                {"type": "new_location", "cited_text": "n"},
            ],
        }
    )
    assert block == {
        "type": "text",
        "text": "cited",
        "annotations": [
            {"type": "citation", "cited_text": "tx", "title": "a", "extras": {"start_char_index": 0}},
            {"type": "citation", "cited_text": "c", "url": "https://e.x", "extras": {"encrypted_index": "E"}},
            {"type": "non_standard_annotation", "value": {"type": "new_location", "cited_text": "n"}},
        ],
    }
    assert only({"type": "text", "text": "a", "citations": None}) == {"type": "text", "text": "a"}


def test_openai_annotations_become_citations() -> None:
    """Annotations of the Responses API are citations; standard ones pass."""
    block = only(
        {
            "type": "output_text",
            "text": "Rome",
            "annotations": [
                {"type": "url_citation", "start_index": 0, "end_index": 4, "url": "https://e.x", "title": "T"},
                {"type": "file_citation", "file_id": "f", "filename": "a.pdf", "index": 0},
                {"type": "file_path", "file_id": "f"},
            ],
        }
    )
    assert block["annotations"] == [
        {"type": "citation", "start_index": 0, "end_index": 4, "url": "https://e.x", "title": "T"},
        {"type": "citation", "title": "a.pdf", "extras": {"file_id": "f", "index": 0}},
        {"type": "non_standard_annotation", "value": {"type": "file_path", "file_id": "f"}},
    ]
    assert only({"type": "input_text", "text": "q"}) == {"type": "text", "text": "q"}


def test_annotations_beside_the_content_are_shown_on_the_text() -> None:
    """A chat completion's annotations are citations of its text; a text that has its own keeps those."""
    inner = {"start_index": 0, "end_index": 4, "url": "https://e.x", "title": "T"}
    citation = {"type": "citation", **inner}
    beside = {"annotations": [{"type": "url_citation", "url_citation": inner}, {"type": "new", "x": 1}]}
    noted = [citation, {"type": "non_standard_annotation", "value": {"type": "new", "x": 1}}]
    assert view("Rome", additional_kwargs=beside) == [{"type": "text", "text": "Rome", "annotations": noted}]
    own = {"type": "text", "text": "Rome", "annotations": [citation]}
    assert view([own], additional_kwargs=beside) == [own]
    call = tool_call(name="f", args={}, id="1")
    assert [block["type"] for block in view("", additional_kwargs=beside, tool_calls=[call])] == ["tool_call"]


def test_a_responses_message_is_its_texts() -> None:
    """Each part is a block with the message's id; what the message says as a whole goes with the first text."""
    parts = [{"type": "output_text", "text": "a", "logprobs": []}, {"type": "refusal", "refusal": "No."}]
    item = {"type": "message", "role": "assistant", "id": "msg_1", "phase": "commentary", "content": parts}
    assert view([item]) == [
        {"type": "text", "text": "a", "id": "msg_1", "extras": {"message": {"phase": "commentary"}, "logprobs": []}},
        {"type": "non_standard", "id": "msg_1", "value": parts[1]},
    ]
    assert [block["index"] for block in view([{**item, "index": 2}])] == ["lc_msg_2_0", "lc_msg_2_1"]
    only({**item, "content": parts[1:]})  # a refusal alone has no text to go with: the item is kept whole


def test_thinking_keeps_its_signature() -> None:
    """Anthropic's thinking is reasoning with the signature in extras; Mistral's list of parts is joined."""
    assert only({"type": "thinking", "thinking": "Easy.", "signature": "EqQB", "index": 0}) == {
        "type": "reasoning",
        "reasoning": "Easy.",
        "index": 0,
        "extras": {"signature": "EqQB"},
    }
    mistral = {"type": "thinking", "thinking": [{"type": "text", "text": "Ea"}, {"type": "text", "text": "sy."}]}
    assert only(mistral) == {"type": "reasoning", "reasoning": "Easy."}


def test_gemini_parts_have_no_type() -> None:
    """Text, thoughts and their signatures are told by their keys."""
    assert only({"text": "hi"}) == {"type": "text", "text": "hi"}
    assert only({"text": "Ea", "thought": True, "thoughtSignature": "Q2"}) == {
        "type": "reasoning",
        "reasoning": "Ea",
        "extras": {"signature": "Q2"},
    }


def test_responses_reasoning_is_one_block_a_paragraph() -> None:
    """A summary of two parts is two blocks with indices of their own; the encrypted content goes with the first."""
    item = {
        "type": "reasoning",
        "id": "rs_1",
        "index": 3,
        "summary": [{"type": "summary_text", "text": "One."}, {"type": "summary_text", "text": "Two."}],
        "encrypted_content": "gAAAA==",
    }
    assert view([item]) == [
        {
            "type": "reasoning",
            "reasoning": "One.",
            "id": "rs_1",
            "index": "lc_rs_3_0",
            "extras": {"encrypted_content": "gAAAA=="},
        },
        {"type": "reasoning", "reasoning": "Two.", "id": "rs_1", "index": "lc_rs_3_1"},
    ]
    assert only({"type": "reasoning", "id": "rs_1", "summary": []}) == {
        "type": "reasoning",
        "reasoning": "",
        "id": "rs_1",
    }


def test_reasoning_beside_the_content_comes_first() -> None:
    """`reasoning_content` is the first block, unless the content has reasoning of its own."""
    beside = {"reasoning_content": "hm"}
    assert view("42", additional_kwargs=beside) == [
        {"type": "reasoning", "reasoning": "hm"},
        {"type": "text", "text": "42"},
    ]
    inside = [{"type": "thinking", "thinking": "mine"}]
    assert view(inside, additional_kwargs=beside) == [{"type": "reasoning", "reasoning": "mine"}]


# Tools


def test_calls_missing_from_the_content_are_appended() -> None:
    """Calls and invalid calls of the message are blocks after the content, ids or not."""
    blocks = view(
        "Let me see.",
        tool_calls=[tool_call(name="a", args={"x": 1}, id="1"), tool_call(name="b", args={}, id=None)],
        invalid_tool_calls=[invalid_tool_call(name="c", args="{", id="2", error="why")],
    )
    assert blocks == [
        {"type": "text", "text": "Let me see."},
        {"type": "tool_call", "name": "a", "args": {"x": 1}, "id": "1"},
        {"type": "tool_call", "name": "b", "args": {}, "id": None},
        {"type": "invalid_tool_call", "name": "c", "args": "{", "id": "2", "error": "why"},
    ]


def test_a_custom_tool_call_is_a_call_with_one_argument() -> None:
    """The text that a Responses model wrote for a tool of free text is the argument that LangChain has for it."""
    block = only({"type": "custom_tool_call", "id": "ctc_1", "call_id": "1", "name": "raw", "input": "x=1"})
    assert (block["type"], block["id"], block["args"]) == ("tool_call", "1", {"__arg1": "x=1"})


@pytest.mark.parametrize(
    "native",
    [
        {"type": "tool_use", "id": "1", "name": "add", "input": {"a": 1}},
        {"type": "function_call", "call_id": "1", "name": "add", "arguments": '{"a":1}'},
        {"type": "function_call", "id": "1", "name": "add", "args": {"a": 1}},
        {"functionCall": {"id": "1", "name": "add", "args": {"a": 1}}},
        {"type": "tool_call", "id": "1", "name": "add", "args": {"a": 1}},
    ],
)
def test_a_call_in_the_content_is_shown_once_and_in_its_place(native: dict[str, Any]) -> None:
    """Whatever the dialect, a call that the content holds is not appended again."""
    call = {"type": "tool_call", "id": "1", "name": "add", "args": {"a": 1}}
    assert view([native]) == [call]
    assert view([native, "after"], tool_calls=[tool_call(name="add", args={"a": 1}, id="1")]) == [
        call,
        {"type": "text", "text": "after"},
    ]


def test_calls_without_ids_are_matched_by_what_they_say() -> None:
    """Two equal calls without ids are two blocks, not one and not four."""
    part = {"functionCall": {"name": "roll", "args": {}}}
    calls = [tool_call(name="roll", args={}, id="lc_1"), tool_call(name="roll", args={}, id="lc_2")]
    assert [block["id"] for block in view([part, part], tool_calls=calls)] == ["lc_1", "lc_2"]


def test_the_message_knows_its_calls_best() -> None:
    """Arguments that were collected while streaming take the place of the empty ones in the content."""
    native = {"type": "tool_use", "id": "1", "name": "add", "input": {}, "index": 1, "caller": {"type": "direct"}}
    assert view([native], tool_calls=[tool_call(name="add", args={"a": 1}, id="1")]) == [
        {
            "type": "tool_call",
            "id": "1",
            "name": "add",
            "args": {"a": 1},
            "index": 1,
            "extras": {"caller": {"type": "direct"}},
        }
    ]


def test_unreadable_arguments_make_an_invalid_call() -> None:
    """A Responses call with broken JSON keeps its text and says where it breaks."""
    native = {"type": "function_call", "id": "fc_1", "call_id": "1", "name": "add", "arguments": '{"a"'}
    block = only(native)
    assert (block["type"], block["args"], block["extras"]) == ("invalid_tool_call", '{"a"', {"item_id": "fc_1"})
    assert "line 1 column" in block["error"]


def test_server_tools_of_anthropic() -> None:
    """A server's call and result are linked by id; an error is an error."""
    call = {"type": "server_tool_use", "id": "s1", "name": "code_execution", "input": {"code": "1"}, "caller": {}}
    assert only(call) == {
        "type": "server_tool_call",
        "id": "s1",
        "name": "code_interpreter",
        "args": {"code": "1"},
        "extras": {"caller": {}},
    }
    result = {"type": "web_search_tool_result", "tool_use_id": "s1", "content": [{"type": "web_search_result"}]}
    assert only(result) == {
        "type": "server_tool_result",
        "tool_call_id": "s1",
        "status": "success",
        "output": [{"type": "web_search_result"}],
        "extras": {"block_type": "web_search_tool_result"},
    }
    assert only({**result, "content": {"error_code": "unavailable"}})["status"] == "error"
    remote = only({"type": "mcp_tool_use", "id": "m1", "name": "look", "server_name": "s", "input": {}})
    assert (remote["name"], remote["extras"]) == ("remote_mcp", {"tool_name": "look", "server_name": "s"})


def test_hosted_tools_of_openai() -> None:
    """A hosted tool's item is a call and a result; one that still runs has no result yet."""
    item = {"type": "code_interpreter_call", "id": "ci_1", "status": "completed", "code": "1+1", "index": 1}
    call, result = view([{**item, "outputs": [{"type": "logs", "logs": "2"}]}])
    assert call == {
        "type": "server_tool_call",
        "name": "code_interpreter",
        "id": "ci_1",
        "args": {"code": "1+1"},
        "index": 1,
    }
    assert result == {
        "type": "server_tool_result",
        "tool_call_id": "ci_1",
        "status": "success",
        "output": [{"type": "logs", "logs": "2"}],
        "index": "lc_result_1",
    }
    assert len(view([{**item, "status": "in_progress", "outputs": None}])) == 1
    assert view([{"type": "mcp_call", "id": "m", "arguments": "{}", "error": "no"}])[1]["status"] == "error"


def test_code_execution_of_gemini() -> None:
    """Gemini's code and its outcome are a server tool call and its result."""
    call = only({"executableCode": {"language": "PYTHON", "code": "1+1"}})
    assert (call["name"], call["args"]) == ("code_interpreter", {"code": "1+1", "language": "PYTHON"})
    assert only({"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "2"}})["status"] == "success"
    assert only({"codeExecutionResult": {"outcome": "OUTCOME_FAILED"}})["status"] == "error"


# Fragments of a stream


def test_fragments_of_calls_take_the_place_of_calls() -> None:
    """While a message streams, its tool_call_chunks are shown; the calls guessed from them are not."""
    chunk = tool_call_chunk(name="add", args='{"a', id="1", index=0)
    guess = tool_call(name="add", args={}, id="1")
    expected = {"type": "tool_call_chunk", "name": "add", "args": '{"a', "id": "1", "index": 0}
    assert view("", tool_call_chunks=[chunk], tool_calls=[guess]) == [expected]
    whole = {"type": "tool_use", "id": "1", "name": "add", "input": {}, "index": 0}
    assert view([whole], tool_call_chunks=[chunk]) == [expected]


def test_json_deltas_belong_to_the_tool_with_their_index() -> None:
    """A delta of the user's tool is a tool_call_chunk; any other belongs to a server's tool."""
    delta = {"type": "input_json_delta", "partial_json": '{"a', "index": 1}
    (block,) = view([delta], tool_call_chunks=[tool_call_chunk(args='{"a', index=1)])
    assert (block["type"], block["args"], block["index"]) == ("tool_call_chunk", '{"a', 1)
    (block,) = view([delta], tool_call_chunks=[])
    assert (block["type"], block["args"], block["index"]) == ("server_tool_call_chunk", '{"a', 1)


def test_a_server_tool_grows_while_it_streams() -> None:
    """Its first piece is a chunk without arguments, its unfinished text a chunk, and whole text the call."""
    first = {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}, "index": 0}
    (block,) = view([first], tool_call_chunks=[])
    assert (block["type"], block["args"]) == ("server_tool_call_chunk", "")
    assert only(first)["type"] == "server_tool_call"
    assert only({**first, "partial_json": '{"q'})["args"] == '{"q'
    assert only({**first, "partial_json": '{"q": "x"}'})["args"] == {"q": "x"}


# Properties

FIELDS = """
    type id index text data url source source_type media_type mime_type format image_url input_audio file file_id
    file_data file_url summary content annotations citations thinking name input args arguments call_id extras output
    tool_use_id bytes code status partial_json document image
"""
KEYS: st.SearchStrategy[str] = st.sampled_from(FIELDS.split())
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | st.text(max_size=3) | st.just("data:image/png;base64,AA=="),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=6,
)
NATIVE = st.builds(
    lambda kind, rest: {**rest, **({} if kind is None else {"type": kind})},
    st.sampled_from([None, *sorted({*_READERS, *KNOWN_BLOCK_TYPES})]),
    st.dictionaries(KEYS | st.sampled_from(sorted(_PARTS)), VALUES, max_size=6),
)


@given(st.lists(NATIVE, max_size=3))
def test_any_content_can_be_read(content: list[dict[str, Any]]) -> None:
    """Whatever the shape: no error, nothing changed, and every block that was translated is a valid one."""
    for block in view(content, tool_calls=[tool_call(name="f", args={}, id="1")]):
        if not any(block is native for native in content):
            validate_content_block(block)


@given(st.lists(NATIVE, min_size=1, max_size=3))
def test_any_content_can_be_worked_with(content: list[Any]) -> None:
    """Whatever a server sent, a history that holds it can be counted, cut, checked and written, or is refused by name."""
    message = AIMessage(content)
    count_tokens_approximately([message])
    get_buffer_string([message], format="xml")
    filter_messages([message], exclude_tool_calls=["1"])
    repair_history(merge_message_runs([message, message]))
    trim_messages([message], max_tokens=3, token_counter=count_tokens_approximately, allow_partial=True)
    for write in (convert_to_openai_messages, lambda said: native_content(said[0].content_blocks, "anthropic")):
        with contextlib.suppress(InvalidInput, Unsupported):
            write([message])


@given(st.lists(NATIVE | st.text(max_size=2), max_size=3))
def test_normalizing_twice_is_normalizing_once(content: list[Any]) -> None:
    """Normalised content is left alone, and the first time changes nothing in place."""
    before = copy.deepcopy(content)
    once = normalize_input_content(content)
    assert content == before
    assert normalize_input_content(once) is once


# Input


@pytest.mark.parametrize(
    "content",
    [
        "hi",
        [],
        ["a", {"type": "text", "text": "b"}],
        [{"type": "image_url", "image_url": {"url": "https://e.x"}}],
        [{"type": "image", "source": {"type": "url", "url": "https://e.x"}}],
        [{"type": "file", "url": "https://e.x"}, {"type": "zzz"}],
        [{"type": "input_audio"}, {"type": "image", "source_type": "unheard-of"}],
    ],
)
def test_input_without_old_blocks_is_the_same_object(content: Any) -> None:
    """Nothing to bring up to date, nothing made: the very same content comes back."""
    assert normalize_input_content(content) is content


def test_old_input_blocks_are_brought_up_to_date() -> None:
    """LangChain 0.x data and OpenAI's audio and files become standard blocks in place, the same every time."""
    content: list[str | dict[str, Any]] = [
        "look",
        {"type": "image", "source_type": "base64", "data": PNG, "mime_type": "image/png"},
        {"type": "input_audio", "input_audio": {"data": "UklG", "format": "wav"}},
        {"type": "file", "file": {"file_id": "file-1"}},
        {"type": "image_url", "image_url": {"url": "https://e.x"}},
    ]
    before = copy.deepcopy(content)
    assert normalize_input_content(content) == [
        "look",
        IMAGE,
        {"type": "audio", "base64": "UklG", "mime_type": "audio/wav"},
        {"type": "file", "file_id": "file-1"},
        {"type": "image_url", "image_url": {"url": "https://e.x"}},
    ]
    assert content == before
    assert normalize_input_content(content) == normalize_input_content(content)
