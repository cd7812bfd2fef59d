"""Handlers that print, or write to a file, what happens."""

import sys
import time
from typing import IO, Any
from uuid import UUID

from hocket.callbacks.handler_mixins import Serialized
from hocket.callbacks.handlers import BaseCallbackHandler
from hocket.messages import BaseMessage, get_buffer_string
from hocket.outputs import LLMResult

__all__ = ["DebugCallbackHandler", "FileCallbackHandler", "StdOutCallbackHandler", "StreamingStdOutCallbackHandler"]


class _Printer(BaseCallbackHandler):
    """Writes a line for what chains, tools and agents do, as LangChain's does, and for what models answer."""

    def write(self, text: str, end: str = "\n") -> None:
        """Write a text where this handler writes to."""
        raise NotImplementedError

    def on_chain_start(self, serialized: Serialized, inputs: dict[str, Any], **kwargs: object) -> None:
        name = kwargs.get("name") or (serialized or {}).get("name") or "chain"
        self.write(f"\n> Entering new {name} ...")

    def on_chain_end(self, outputs: object, **kwargs: object) -> None:
        self.write("\n> Finished chain.")

    def on_agent_action(self, action: object, **kwargs: object) -> None:
        self.write(str(getattr(action, "log", action)))

    def on_agent_finish(self, finish: object, **kwargs: object) -> None:
        self.write(str(getattr(finish, "log", finish)))

    def on_tool_end(self, output: object, **kwargs: object) -> None:
        self.write(str(output))

    def on_text(self, text: str, *, end: str = "", **kwargs: object) -> None:
        self.write(text, end=end)

    def on_llm_end(self, response: LLMResult, **kwargs: object) -> None:
        for candidates in response.generations:
            for candidate in candidates:
                self.write(candidate.text)


class StdOutCallbackHandler(_Printer):
    """Prints what chains, tools and agents do and models answer. ``color`` is taken for LangChain's sake and not used."""

    run_inline = True

    def __init__(self, color: str | None = None) -> None:
        self.color = color

    def write(self, text: str, end: str = "\n") -> None:
        """Write a text to the standard output, as it is now."""
        sys.stdout.write(text + end)


class FileCallbackHandler(_Printer):
    """Writes what chains, tools and agents do and models answer to a file; close it, or use it as a context manager.

    Args:
        filename: created if it is not there.
        mode: how it is opened: "a" appends.
    """

    def __init__(self, filename: str, mode: str = "a", color: str | None = None) -> None:
        self.filename: str = filename
        self.mode: str = mode
        self.color: str | None = color
        self._file: IO[str] = open(filename, mode, encoding="utf-8")  # noqa: SIM115  # closed by close()

    def write(self, text: str, end: str = "\n") -> None:
        """Write a text to the file; ValueError: it is closed."""
        if self._file.closed:
            raise ValueError(f"{self.filename} is closed: the handler was used after its block ended")
        self._file.write(text + end)
        self._file.flush()

    def close(self) -> None:
        """Close the file. Safe to call twice."""
        self._file.close()

    def __enter__(self) -> "FileCallbackHandler":
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


class StreamingStdOutCallbackHandler(BaseCallbackHandler):
    """Prints each chunk's text as it comes."""

    run_inline = True

    def on_llm_new_token(self, token: str, **kwargs: object) -> None:
        sys.stdout.write(token)
        sys.stdout.flush()


class DebugCallbackHandler(BaseCallbackHandler):
    """Prints every run's input, output and time (`hocket.globals.set_debug`)."""

    run_inline = True

    def __init__(self) -> None:
        self._started: dict[UUID, float] = {}

    def on_chat_model_start(
        self, serialized: Serialized, messages: list[list[BaseMessage]], *, run_id: UUID, **kwargs: object
    ) -> None:
        self._enter("model", run_id, kwargs.get("name"), "\n".join(get_buffer_string(part) for part in messages))

    def on_llm_start(self, serialized: Serialized, prompts: list[str], *, run_id: UUID, **kwargs: object) -> None:
        self._enter("model", run_id, kwargs.get("name"), "\n".join(prompts))

    def on_llm_end(self, response: LLMResult, *, run_id: UUID, **kwargs: object) -> None:
        self._leave("model", run_id, "\n".join(one.text for many in response.generations for one in many))

    def on_llm_error(self, error: BaseException, *, run_id: UUID, **kwargs: object) -> None:
        self._leave("model", run_id, repr(error))

    def on_chain_start(self, serialized: Serialized, inputs: dict[str, Any], *, run_id: UUID, **kwargs: object) -> None:
        self._enter("chain", run_id, kwargs.get("name"), repr(inputs))

    def on_chain_end(self, outputs: object, *, run_id: UUID, **kwargs: object) -> None:
        self._leave("chain", run_id, repr(outputs))

    def on_chain_error(self, error: BaseException, *, run_id: UUID, **kwargs: object) -> None:
        self._leave("chain", run_id, repr(error))

    def on_tool_start(self, serialized: Serialized, input_str: str, *, run_id: UUID, **kwargs: object) -> None:
        self._enter("tool", run_id, kwargs.get("name") or (serialized or {}).get("name"), input_str)

    def on_tool_end(self, output: object, *, run_id: UUID, **kwargs: object) -> None:
        self._leave("tool", run_id, repr(output))

    def on_tool_error(self, error: BaseException, *, run_id: UUID, **kwargs: object) -> None:
        self._leave("tool", run_id, repr(error))

    def _enter(self, kind: str, run_id: UUID, name: object, text: str) -> None:
        self._started[run_id] = time.monotonic()
        print(f"[{kind} start] {name or ''} {run_id}\n{text}")

    def _leave(self, kind: str, run_id: UUID, text: str) -> None:
        took = (time.monotonic() - self._started.pop(run_id, time.monotonic())) * 1000
        print(f"[{kind} end] {run_id} {took:.0f} ms\n{text}")
