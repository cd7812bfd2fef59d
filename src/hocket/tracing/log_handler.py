"""`LogHandler`: a log record at the end of each run; `JSONFormatter` writes records as lines of JSON. No package needed.

A record has its facts under ``hocket``, for whatever formats it: the application's own formatter, or this one.
"""

import json
import logging
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from hocket._runtime import clock
from hocket._secrets import known_secrets, redact
from hocket.callbacks import BaseCallbackHandler
from hocket.callbacks.handler_mixins import Metadata, Serialized
from hocket.messages import BaseMessage, UsageMetadata, get_buffer_string
from hocket.outputs import LLMResult
from hocket.tracing.conventions import CANCELLED, PROVIDERS
from hocket.tracing.outcomes import error_type, read_outcome

__all__ = ["JSONFormatter", "LogHandler"]

Facts = dict[str, object]


class _Started:
    """A run that has not ended: when it started, and what is known of it."""

    def __init__(self, facts: Facts) -> None:
        self.at = clock.current().now()
        self.facts = facts


class LogHandler(BaseCallbackHandler):
    """Logs one record at the end of each run: INFO, of what failed ERROR; of what was cancelled INFO.

    Its ``hocket`` is a dict: ``kind`` (chat, text, embeddings, chain, tool, retriever), ``name``, ``run_id``,
    ``parent_run_id``, ``seconds``, and where known ``provider``, ``model``, ``input_tokens``, ``output_tokens``,
    ``attempts``, ``cache_hit``, ``closed`` (its consumer left early), ``status`` (of the HTTP reply) and ``error_type``.

        model.invoke("hello", {"callbacks": [LogHandler()]})
        hocket.callbacks.register_handler(LogHandler())  # every run of the process

    The logger is called where the run runs: give one that writes over the network a ``QueueHandler``.

    Args:
        logger: what it logs to; None: the logger "hocket.runs".
        content: whether ``input``, ``output`` and ``error`` (its message) are in it, too. Keys are masked.
    """

    run_inline: bool = True

    def __init__(self, logger: logging.Logger | None = None, *, content: bool = False) -> None:
        self._logger: logging.Logger = logger or logging.getLogger("hocket.runs")
        self._content: bool = content
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
        }
        if kind in _MODELS:
            provider, model = metadata.get("ls_provider"), metadata.get("ls_model_name")
            facts |= {"provider": PROVIDERS.get(str(provider), provider), "model": model, "attempts": 1}
        self._started[run_id] = _Started(facts)

    def on_retry(self, retry_state: object, *, run_id: UUID, **kwargs: Any) -> None:
        """Count an attempt."""
        started = self._started.get(run_id)
        if started is not None:
            started.facts["attempts"] = kwargs.get("attempt", 1) + 1

    # -- ends

    def on_llm_end(self, response: LLMResult, *, run_id: UUID, **kwargs: Any) -> None:
        """Log the end of a model."""
        self._add_answer(run_id, response)
        self._end(run_id, kwargs)

    def on_llm_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        """Log the failure of a model."""
        self._add_answer(run_id, kwargs.get("response"))
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

    def _add_answer(self, run_id: UUID, response: LLMResult | None) -> None:
        started = self._started.get(run_id)
        if started is None or response is None:
            return
        outcome = read_outcome(response)
        if outcome.usage is not None:
            started.facts |= {key: outcome.usage[key] for key in ("input_tokens", "output_tokens")}
        if outcome.is_cached:
            started.facts["cache_hit"] = True
        texts = [one.text for several in response.generations for one in several]
        self._add_content(run_id, "output", lambda: "\n".join(texts))

    def _add_content(self, run_id: UUID, key: str, read: Any) -> None:
        if self._content and run_id in self._started:
            self._started[run_id].facts[key] = read()

    def _fail(self, run_id: UUID, error: BaseException) -> None:
        kind = error_type(error)
        facts: Facts = {"error_type": kind}
        status = getattr(error, "status", None)
        if isinstance(status, int):
            facts["status"] = status
        if self._content:
            facts["error"] = str(error)
        self._end(run_id, {}, facts, logging.INFO if kind == CANCELLED else logging.ERROR)

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
        if self._content:
            secrets = known_secrets()
            facts |= {key: redact(facts[key], secrets) for key in ("input", "output", "error") if key in facts}
        outcome = facts.get("error_type", "ended")
        self._logger.log(level, "%s %s: %s", facts["kind"], facts.get("name"), outcome, extra={"hocket": facts})


_MODELS = frozenset({"chat", "text", "embeddings"})


class JSONFormatter(logging.Formatter):
    """Writes a log record as a line of JSON: ``time`` (UTC), ``level``, ``logger``, ``message``, ``hocket``, ``exception``.

    It takes the arguments of `logging.Formatter`, of which ``datefmt`` alone counts.
    """

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        time = datetime.fromtimestamp(record.created, UTC)
        line: Facts = {
            "time": time.strftime(self.datefmt) if self.datefmt else time.isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
        }
        facts: object = getattr(record, "hocket", None)
        if facts is not None:
            line["hocket"] = facts
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False, default=str)
