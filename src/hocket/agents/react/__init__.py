"""The style of agents for models that cannot call tools natively: they think, act and answer in text."""

from typing import TYPE_CHECKING

from hocket._runtime.lazy import Loader, loader

if TYPE_CHECKING:
    from hocket.agents.react.format import ReActAnswer, ReActFormat
    from hocket.agents.react.parse import ReActReply
    from hocket.agents.react.stream_filter import FinalAnswerFilter

_LATER = {
    "format": "ReActAnswer ReActFormat",
    "parse": "ReActReply",
    "stream_filter": "FinalAnswerFilter",
}

__all__ = ["FinalAnswerFilter", "ReActAnswer", "ReActFormat", "ReActReply"]

__getattr__: Loader = loader(__name__, _LATER)
