"""What is said: messages, the chunks they stream in as, and the blocks they are made of.

Every name of langchain-core's ``messages`` package that exists here means the same.
"""

from hocket.messages.ai import AIMessage, AIMessageChunk, Collector, message_chunk_to_message
from hocket.messages.base import BaseMessage, BaseMessageChunk, get_msg_title_repr, merge_content
from hocket.messages.buffer import get_buffer_string
from hocket.messages.chat import ChatMessage, ChatMessageChunk
from hocket.messages.content import (
    Annotation,
    AudioContentBlock,
    Citation,
    ContentBlock,
    DataContentBlock,
    FileContentBlock,
    ImageContentBlock,
    NonStandardAnnotation,
    NonStandardContentBlock,
    PlainTextContentBlock,
    ReasoningContentBlock,
    ServerToolCall,
    ServerToolCallChunk,
    ServerToolResult,
    TextContentBlock,
    VideoContentBlock,
    is_data_content_block,
)
from hocket.messages.content_factories import (
    create_audio_block,
    create_citation,
    create_file_block,
    create_image_block,
    create_non_standard_block,
    create_plaintext_block,
    create_reasoning_block,
    create_text_block,
    create_tool_call,
    create_video_block,
)
from hocket.messages.convert import AnyMessage, MessageLikeRepresentation, convert_to_messages
from hocket.messages.function import FunctionMessage, FunctionMessageChunk
from hocket.messages.human import HumanMessage, HumanMessageChunk
from hocket.messages.modifier import RemoveMessage
from hocket.messages.system import SystemMessage, SystemMessageChunk
from hocket.messages.tool import ToolMessage, ToolMessageChunk
from hocket.messages.tool_calls import (
    InvalidToolCall,
    ToolCall,
    ToolCallChunk,
    default_tool_chunk_parser,
    default_tool_parser,
    invalid_tool_call,
    tool_call,
    tool_call_chunk,
)
from hocket.messages.usage import InputTokenDetails, OutputTokenDetails, UsageMetadata, add_usage, subtract_usage

__all__ = [
    "AIMessage",
    "AIMessageChunk",
    "Annotation",
    "AnyMessage",
    "AudioContentBlock",
    "BaseMessage",
    "BaseMessageChunk",
    "ChatMessage",
    "ChatMessageChunk",
    "Citation",
    "Collector",
    "ContentBlock",
    "DataContentBlock",
    "FileContentBlock",
    "FunctionMessage",
    "FunctionMessageChunk",
    "HumanMessage",
    "HumanMessageChunk",
    "ImageContentBlock",
    "InputTokenDetails",
    "InvalidToolCall",
    "MessageLikeRepresentation",
    "NonStandardAnnotation",
    "NonStandardContentBlock",
    "OutputTokenDetails",
    "PlainTextContentBlock",
    "ReasoningContentBlock",
    "RemoveMessage",
    "ServerToolCall",
    "ServerToolCallChunk",
    "ServerToolResult",
    "SystemMessage",
    "SystemMessageChunk",
    "TextContentBlock",
    "ToolCall",
    "ToolCallChunk",
    "ToolMessage",
    "ToolMessageChunk",
    "UsageMetadata",
    "VideoContentBlock",
    "add_usage",
    "convert_to_messages",
    "create_audio_block",
    "create_citation",
    "create_file_block",
    "create_image_block",
    "create_non_standard_block",
    "create_plaintext_block",
    "create_reasoning_block",
    "create_text_block",
    "create_tool_call",
    "create_video_block",
    "default_tool_chunk_parser",
    "default_tool_parser",
    "get_buffer_string",
    "get_msg_title_repr",
    "invalid_tool_call",
    "is_data_content_block",
    "merge_content",
    "message_chunk_to_message",
    "subtract_usage",
    "tool_call",
    "tool_call_chunk",
]
