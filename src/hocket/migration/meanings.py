"""Calls that have the same name in hocket and another meaning, or none: the program would run on, so each is told."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Literal

import libcst as cst
from libcst import matchers
from libcst.metadata import MetadataWrapper

from hocket.migration.dotted import Placed
from hocket.migration.findings import Finding
from hocket.migration.uses import ProgramReader

__all__ = ["MeaningReader"]

_EVENTS = "an agent of hocket's takes no stream_mode, and its stream has typed events: see docs/agents.md"
_LOG = "hocket has no such stream; read astream_events(..., version='v2')"
_FIRST_EVENTS = "hocket's events are those of version 2 (the output of an end is in its data): write version='v2'"
_FILTER = (
    "a filter is data in hocket, such as {'year': {'$gte': 2020}}, and no function of a document; see docs/retrieval.md"
)
_SCORE = (
    "a score is the cosine similarity here, of every store, one that stays LangChain's too: at most 1, and higher is nearer "
    "(FAISS's own is a distance); look at what is done with the numbers"
)
_THRESHOLD = "the threshold is a cosine similarity here, of every store; look at its number"
_RECURSION = "an agent of hocket's does not look at it; give it limits=AgentLimits(model_calls=...), 25 by default"

_THREAD = (
    "an agent of hocket's does not look at it, and forgets: give each run its conversation, "
    "agent.invoke(message, history=open_history(url, session_id=...))"
)
_LISTENED = (
    "a run's inputs and outputs are what they were; in LangChain, what is no dict is {'input': ...}, {'output': ...}"
)
_INNER = (
    "hocket has no such method: write what it is given into invoke or ainvoke itself, whose runs, handlers and batches "
    "come by themselves"
)

_METHODS: Mapping[str, tuple[str, Literal["left", "check"]]] = {
    **dict.fromkeys(("_call_with_config", "_acall_with_config"), (_INNER, "left")),
    **dict.fromkeys(("_batch_with_config", "_abatch_with_config"), (_INNER, "left")),
    **dict.fromkeys(("_transform_stream_with_config", "_atransform_stream_with_config"), (_INNER, "left")),
    **dict.fromkeys(("stream_log", "astream_log"), (_LOG, "left")),
    **dict.fromkeys(("with_listeners", "with_alisteners"), (_LISTENED, "check")),
}
"""Methods of LangChain's runnables: what to say where one is called."""
_SEARCHES = ("similarity_search", "max_marginal_relevance_search", "search", "as_retriever")
_SCORED = ("_with_score", "_with_relevance_scores", "_with_score_by_vector")


class MeaningReader(cst.CSTVisitor, Placed):
    """Finds what to tell of calls.

    Args:
        reader: what was read of the program before.

    Attributes:
        findings: what is to be told.
    """

    def __init__(self, reader: ProgramReader) -> None:
        super().__init__()
        self.findings: list[Finding] = []
        self._reader = reader
        self._functions: set[str] = set()

    def read(self, program: MetadataWrapper) -> None:
        """Read a program, if it has anything of LangChain's."""
        if self._reader.has_langchain:
            functions = matchers.findall(program.module, matchers.FunctionDef())
            self._functions = {cst.ensure_type(one, cst.FunctionDef).name.value for one in functions}
            program.visit(self)

    def visit_Call(self, node: cst.Call) -> None:
        if not isinstance(node.func, cst.Attribute):
            return
        verb = node.func.attr.value
        if verb in _METHODS:
            self._tell(node, verb, *_METHODS[verb])
        if verb == "astream_events" and any(_is_text(arg.value, "v1") for arg in node.args):
            self._tell(node, "astream_events(version='v1')", _FIRST_EVENTS)
        if any(arg.keyword and arg.keyword.value == "stream_mode" for arg in node.args):
            self._tell(node, f"{verb}(stream_mode=)", _EVENTS)
        if verb.startswith(_SEARCHES) or verb.removeprefix("a").startswith(_SEARCHES):
            for given in _list_filters(node.args):
                if isinstance(given, cst.Lambda) or (isinstance(given, cst.Name) and given.value in self._functions):
                    self._tell(given, f"{verb}(filter=)", _FILTER)
        if verb.endswith(_SCORED) and not self._reader.is_core(node.func.value):
            self._tell(node, verb, _SCORE, "check")

    def visit_SimpleString(self, node: cst.SimpleString) -> None:
        if node.evaluated_value == "similarity_score_threshold":
            self._tell(node, "score_threshold", _THRESHOLD, "check")
        elif node.evaluated_value == "recursion_limit":
            self._tell(node, "recursion_limit", _RECURSION, "check")

    def visit_DictElement(self, node: cst.DictElement) -> None:
        """Tell of LangGraph's threads. What has a history of LangChain's may have a key of this name."""
        is_told = not any(name.endswith(".RunnableWithMessageHistory") for name in self._reader.imported)
        if is_told and _is_text(node.key, "thread_id"):
            self._tell(node, "thread_id", _THREAD, "check")

    def visit_Arg(self, node: cst.Arg) -> None:
        if node.keyword and node.keyword.value == "recursion_limit":
            self._tell(node, "recursion_limit", _RECURSION, "check")

    def _tell(self, node: cst.CSTNode, what: str, text: str, kind: Literal["left", "check"] = "left") -> None:
        self.findings.append(Finding(self.line_of(node), what, text, kind))


def _is_text(node: cst.BaseExpression, text: str) -> bool:
    return isinstance(node, cst.SimpleString) and node.evaluated_value == text


def _list_filters(args: Iterable[cst.Arg]) -> Iterator[cst.BaseExpression]:
    """Yield what a search is given as its filter, by name or in ``search_kwargs``."""
    for arg in args:
        if arg.keyword and arg.keyword.value == "filter":
            yield arg.value
        elif arg.keyword and arg.keyword.value == "search_kwargs" and isinstance(arg.value, cst.Dict):
            for element in arg.value.elements:
                match element:
                    case cst.DictElement(key=key) if _is_text(key, "filter"):
                        yield element.value
                    case _:
                        pass
