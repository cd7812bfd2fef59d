"""What is done with whole conversations: cut, filtered, merged, checked, mended, and written as OpenAI has them.

All but `split_turns` are shown in `hocket.messages`, as LangChain has it. They live here, on a floor of their own, since
some return runnables and count tokens, which are built on messages.
"""

from typing import TYPE_CHECKING

from hocket._runtime.lazy import Loader, loader
from hocket.message_toolkit.turns import split_turns

if TYPE_CHECKING:
    from hocket.message_toolkit.filter import filter_messages
    from hocket.message_toolkit.merge import merge_message_runs
    from hocket.message_toolkit.openai_form import convert_to_openai_messages
    from hocket.message_toolkit.repair import HistoryProblem, check_history, repair_history, validate_history
    from hocket.message_toolkit.trim import trim_messages

_LATER = {
    "filter": "filter_messages",
    "merge": "merge_message_runs",
    "openai_form": "convert_to_openai_messages",
    "repair": "HistoryProblem check_history repair_history validate_history",
    "trim": "trim_messages",
}

__all__ = [
    "HistoryProblem",
    "check_history",
    "convert_to_openai_messages",
    "filter_messages",
    "merge_message_runs",
    "repair_history",
    "split_turns",
    "trim_messages",
    "validate_history",
]

__getattr__: Loader = loader(__name__, _LATER)
