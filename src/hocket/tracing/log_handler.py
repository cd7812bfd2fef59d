"""`LogHandler`: a log record at the end of each run. No package needed.

A record has its facts under ``hocket``, for whatever formats it: the application's own formatter, or `JSONFormatter`.
"""

import logging
from collections.abc import Collection, Mapping
from typing import Any
from uuid import UUID

from hocket._runtime import clock
from hocket._secrets import known_secrets, redact
from hocket.callbacks import BaseCallbackHandler
from hocket.callbacks.handler_mixins import Metadata, Serialized
from hocket.errors import InvalidInput
from hocket.messages import BaseMessage, UsageMetadata, add_usage, get_buffer_string
from hocket.outputs import LLMResult
from hocket.tracing.conventions import CANCELLED
from hocket.tracing.outcomes import error_type, find_failed_run, mark_failed_run, read_outcome

__all__ = ["LogHandler"]

Facts = dict[str, object]


class _Started:
    """A run that has not ended: when it started, its parent, and what is known of it.

    Attributes:
        usage: of attempts that have failed.
        failed: runs inside it whose failures are logged.
    """

    def __init__(self, facts: Facts, parent_run_id: UUID | None) -> None:
        self.at = clock.current().now()
        self.facts = facts
        self.parent_run_id = parent_run_id
        self.usage: UsageMetadata | None = None
        self.failed: set[UUID] = set()


class LogHandler(BaseCallbackHandler):
    """Logs one record at the end of each run: INFO, of what failed ERROR; of what was cancelled INFO.

    An error that passes through several runs is one ERROR, of the run that it came from. The records of those around it are
    INFO, and name that run as ``cause_run_id``.

    Its ``hocket`` is a dict: ``kind`` (chat, text, embeddings, chain, tool, retriever), ``name``, ``run_id``,
    ``parent_run_id``, ``seconds``, and where known ``provider``, ``model``, ``input_tokens``, ``output_tokens`` (of all
    attempts), ``estimated`` (True: these tokens are counted here by rule of thumb, as far as the server had not told them
    when the call was left, cancelled or broke off), ``attempts``, ``cache_hit``, ``closed`` (its consumer left early),
    ``deployment`` (of a router, who answered),
    ``status`` (of the HTTP reply), ``error_type``, ``tags`` and ``metadata``.

        model.invoke("hello", {"callbacks": [LogHandler()]})
        hocket.callbacks.register_handler(LogHandler())  # every run of the process

    The logger is called where the run runs: give one that writes over the network a ``QueueHandler``.

    Args:
        logger: what it logs to; None: the logger "hocket.runs".
        content: whether ``input``, ``output`` and ``error`` (its message) are in it, too. Keys are masked.
        metadata: keys of the runs' metadata that are in it, such as ``["user_id"]``, as far as a run has them. No others
            are: a log often outlives what it is about.
        tags: whether the runs' tags are in it, too.

    Raises:
        InvalidInput: ``metadata`` is a single text.
    """

    run_inline: bool = True

    def __init__(
        self,
        logger: logging.Logger | None = None,
        *,
        content: bool = False,
        metadata: Collection[str] = (),
        tags: bool = False,
    ) -> None:
        if isinstance(metadata, str):
            raise InvalidInput(f"metadata is {metadata!r}; it is a list of keys: metadata=[{metadata!r}]")
        self._logger: logging.Logger = logger or logging.getLogger("hocket.runs")
        self._content: bool = content
        self._metadata: Collection[str] = metadata
        self._tags: bool = tags
        self._started: dict[UUID, _Started] = {}

    # -- starts

    def on_chat_model_start(
        self, serialized: Serialized, messages: list[list[BaseMessage]], *, run_id: UUID, **kwargs: Any
    ) -> None:
        """Note the start of a chat model."""
        self._start("chat", serialized, run_id, kwargs)
        self._add_content(run_id, "input", lambda: get_buffer_string(messages[0]))

    def on_llm_start(self, serialized: Serialized, prompts: list[str], *, run_id: UUID, **kwargs: Any) -> None:
        """Note the start of a text model."""
        self._start("text", serialized, run_id, kwargs)
        self._add_content(run_id, "input", lambda: "\n".join(prompts))

    def on_embeddings_start(self, serialized: Serialized, texts: list[str], *, run_id: UUID, **kwargs: Any) -> None:
        """Note the start of an embedding model."""
        self._start("embeddings", serialized, run_id, kwargs)
        self._add_content(run_id, "input", lambda: "\n".join(texts))

    def on_chain_start(self, serialized: Serialized, inputs: object, *, run_id: UUID, **kwargs: Any) -> None:
        """Note the start of a chain."""
        self._start("chain", serialized, run_id, kwargs)
        self._add_content(run_id, "input", lambda: str(inputs))

    def on_tool_start(self, serialized: Serialized, input_str: str, *, run_id: UUID, **kwargs: Any) -> None:
        """Note the start of a tool."""
        self._start("tool", serialized, run_id, kwargs)
        self._add_content(run_id, "input", lambda: input_str)

    def on_retriever_start(self, serialized: Serialized, query: str, *, run_id: UUID, **kwargs: Any) -> None:
        """Note the start of a retriever."""
        self._start("retriever", serialized, run_id, kwargs)
        self._add_content(run_id, "input", lambda: query)

    def _start(self, kind: str, serialized: Serialized | None, run_id: UUID, details: Mapping[str, Any]) -> None:
        metadata: Metadata = details.get("metadata") or {}
        parent: UUID | None = details.get("parent_run_id")
        facts: Facts = {
            "kind": kind,
            "name": details.get("name") or (serialized or {}).get("name"),
            "run_id": str(run_id),
            "parent_run_id": None if parent is None else str(parent),
            "tags": (details.get("tags") or None) if self._tags else None,
            "metadata": {key: metadata[key] for key in self._metadata if key in metadata} or None,
        }
        if kind in _MODELS:
            facts |= {
                "provider": metadata.get("ls_provider"),
                "model": metadata.get("ls_model_name"),
                "attempts": 1,
            }
        self._started[run_id] = _Started(facts, parent)

    def on_retry(self, retry_state: object, *, run_id: UUID, **kwargs: Any) -> None:
        """Count an attempt, and what it used."""
        started = self._started.get(run_id)
        if started is not None:
            started.facts["attempts"] = kwargs.get("attempt", 1) + 1
            usage = read_outcome(kwargs.get("response")).usage
            started.usage = add_usage(started.usage, usage) if usage is not None else started.usage

    # -- ends

    def on_llm_end(self, response: LLMResult, *, run_id: UUID, **kwargs: Any) -> None:
        """Log the end of a model."""
        self._add_answer(run_id, response, kwargs.get("estimated_usage"))
        self._end(run_id, kwargs)

    def on_llm_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        """Log the failure of a model."""
        self._add_answer(run_id, kwargs.get("response"), kwargs.get("estimated_usage"))
        self._fail(run_id, error)

    def on_embeddings_end(self, usage: UsageMetadata | None, *, run_id: UUID, **kwargs: Any) -> None:
        """Log the end of an embedding model."""
        if usage is not None and run_id in self._started:
            self._started[run_id].facts["input_tokens"] = usage["input_tokens"]
        self._end(run_id, kwargs)

    def on_chain_end(self, outputs: object, *, run_id: UUID, **kwargs: Any) -> None:
        """Log the end of a chain."""
        self._add_content(run_id, "output", lambda: str(outputs))
        self._end(run_id, kwargs)

    def on_tool_end(self, output: object, *, run_id: UUID, **kwargs: Any) -> None:
        """Log the end of a tool."""
        self._add_content(run_id, "output", lambda: str(getattr(output, "content", output)))
        self._end(run_id, kwargs)

    def on_retriever_end(self, documents: object, *, run_id: UUID, **kwargs: Any) -> None:
        """Log the end of a retriever."""
        self._add_content(run_id, "output", lambda: str(documents))
        self._end(run_id, kwargs)

    def on_embeddings_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        """Log the failure of an embedding model."""
        self._fail(run_id, error)

    def on_chain_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        """Log the failure of a chain."""
        self._fail(run_id, error)

    def on_tool_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        """Log the failure of a tool."""
        self._fail(run_id, error)

    def on_retriever_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        """Log the failure of a retriever."""
        self._fail(run_id, error)

    def _add_answer(self, run_id: UUID, response: LLMResult | None, estimate: UsageMetadata | None) -> None:
        started = self._started.get(run_id)
        if started is None:
            return
        outcome = read_outcome(response)
        used = estimate or outcome.usage
        if used is not None or started.usage is not None:
            usage = add_usage(started.usage, used)
            started.facts |= {key: usage[key] for key in ("input_tokens", "output_tokens")}
        if estimate is not None and estimate != outcome.usage:
            started.facts["estimated"] = True
        if outcome.is_cached:
            started.facts["cache_hit"] = True
        if "deployment" in outcome.facts:
            started.facts["deployment"] = outcome.facts["deployment"]
        if response is not None:
            texts = [one.text for several in response.generations for one in several]
            self._add_content(run_id, "output", lambda: "\n".join(texts))

    def _add_content(self, run_id: UUID, key: str, read: Any) -> None:
        if self._content and run_id in self._started:
            self._started[run_id].facts[key] = read()

    def _fail(self, run_id: UUID, error: BaseException) -> None:
        started = self._started.get(run_id)
        if started is None:
            return
        facts: Facts = {"error_type": error_type(error)}
        status = getattr(error, "status", None)
        if isinstance(status, int):
            facts["status"] = status
        if self._content:
            facts["error"] = str(error)
        if facts["error_type"] == CANCELLED:
            self._end(run_id, {}, facts)
            return
        cause = find_failed_run(error, started.failed)
        if cause is None:
            mark_failed_run(error, run_id)
        else:
            facts["cause_run_id"] = str(cause)
        parent = self._started.get(started.parent_run_id) if started.parent_run_id else None
        if parent is not None:
            parent.failed.add(cause or run_id)
        self._end(run_id, {}, facts, logging.ERROR if cause is None else logging.INFO)

    def _end(
        self,
        run_id: UUID,
        details: Mapping[str, Any],
        more: Mapping[str, object] | None = None,
        level: int = logging.INFO,
    ) -> None:
        started = self._started.pop(run_id, None)
        if started is None or not self._logger.isEnabledFor(level):
            return
        facts: Facts = {**started.facts, "seconds": round(clock.current().now() - started.at, 6), **(more or {})}
        if details.get("closed"):
            facts["closed"] = True
        facts = {key: value for key, value in facts.items() if value is not None}
        if shown := facts.keys() & _GIVEN:
            secrets = known_secrets()
            facts |= {key: redact(facts[key], secrets) for key in shown}
        outcome = facts.get("error_type", "ended")
        self._logger.log(level, "%s %s: %s", facts["kind"], facts.get("name"), outcome, extra={"hocket": facts})


_MODELS = frozenset({"chat", "text", "embeddings"})

_GIVEN = frozenset({"input", "output", "error", "tags", "metadata"})  # not hocket's own words
