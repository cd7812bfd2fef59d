"""What is said: messages, the chunks they stream in as, and the blocks they are made of.

Every name of langchain-core's ``messages`` package that exists here means the same.
"""

from typing import TYPE_CHECKING

from hocket._runtime.lazy import Loader, loader
from hocket.messages.ai import AIMessage, AIMessageChunk, Collector, message_chunk_to_message
from hocket.messages.base import BaseMessage, BaseMessageChunk, get_msg_title_repr as get_msg_title_repr, merge_content
from hocket.messages.buffer import get_buffer_string
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
from hocket.messages.content_validate import validate_content_block as validate_content_block
from hocket.messages.convert import AnyMessage, MessageLikeRepresentation, convert_to_messages
from hocket.messages.records import (
    dump_message,
    dumps_message,
    load_message,
    loads_message,
    message_to_dict,
    messages_from_dict,
    messages_to_dict,
)
from hocket.messages.roles import (
    ChatMessage,
    ChatMessageChunk,
    FunctionMessage,
    FunctionMessageChunk,
    HumanMessage,
    HumanMessageChunk,
    RemoveMessage,
    SystemMessage,
    SystemMessageChunk,
    ToolMessage,
    ToolMessageChunk,
)
from hocket.messages.tool_calls import (
    InvalidToolCall,
    ToolCall,
    ToolCallChunk,
    default_tool_chunk_parser as default_tool_chunk_parser,
    default_tool_parser as default_tool_parser,
    invalid_tool_call,
    tool_call,
    tool_call_chunk,
)
from hocket.messages.usage import (
    InputTokenDetails,
    OutputTokenDetails,
    UsageMetadata,
    add_usage as add_usage,
    subtract_usage,
)

if TYPE_CHECKING:
    from hocket.message_toolkit.filter import filter_messages
    from hocket.message_toolkit.merge import merge_message_runs
    from hocket.message_toolkit.openai_form import convert_to_openai_messages
    from hocket.message_toolkit.repair import HistoryProblem, check_history, repair_history, validate_history
    from hocket.message_toolkit.trim import trim_messages
    from hocket.messages.examples import tool_example_to_messages as tool_example_to_messages
    from hocket.messages.notifications import (
        NotificationMetadata,
        add_notification_metadata,
        get_notification_metadata,
    )
    from hocket.messages.openai_blocks import convert_to_openai_data_block, convert_to_openai_image_block
    from hocket.tokens import count_tokens_approximately

_LATER = {  # what stands on floors above, and what few need
    ".message_toolkit.filter": "filter_messages",
    ".message_toolkit.merge": "merge_message_runs",
    ".message_toolkit.openai_form": "convert_to_openai_messages",
    ".message_toolkit.repair": "HistoryProblem check_history repair_history validate_history",
    ".message_toolkit.trim": "trim_messages",
    ".tokens.approximate": "count_tokens_approximately",
    "examples": "tool_example_to_messages",
    "notifications": "NotificationMetadata add_notification_metadata get_notification_metadata",
    "openai_blocks": "convert_to_openai_data_block convert_to_openai_image_block",
}

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
    "HistoryProblem",
    "HumanMessage",
    "HumanMessageChunk",
    "ImageContentBlock",
    "InputTokenDetails",
    "InvalidToolCall",
    "MessageLikeRepresentation",
    "NonStandardAnnotation",
    "NonStandardContentBlock",
    "NotificationMetadata",
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
    "add_notification_metadata",
    "check_history",
    "convert_to_messages",
    "convert_to_openai_data_block",
    "convert_to_openai_image_block",
    "convert_to_openai_messages",
    "count_tokens_approximately",
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
    "dump_message",
    "dumps_message",
    "filter_messages",
    "get_buffer_string",
    "get_notification_metadata",
    "invalid_tool_call",
    "is_data_content_block",
    "load_message",
    "loads_message",
    "merge_content",
    "merge_message_runs",
    "message_chunk_to_message",
    "message_to_dict",
    "messages_from_dict",
    "messages_to_dict",
    "repair_history",
    "subtract_usage",
    "tool_call",
    "tool_call_chunk",
    "trim_messages",
    "validate_history",
]

__getattr__: Loader = loader(__name__, _LATER)
