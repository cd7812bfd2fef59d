"""Runs as text, in LangChain's form: where a run stands, what went in, how long it took, what came out."""

import json
from collections.abc import Callable

from hocket.runnables.run_record import Run
from hocket.tracers.base import BaseTracer

__all__ = ["ConsoleCallbackHandler", "FunctionCallbackHandler", "try_json_stringify"]

_COLORS = {"start": "32", "end": "34", "error": "31"}  # ANSI: green, blue, red


def try_json_stringify(obj: object, fallback: str) -> str:
    """Return ``obj`` as indented JSON, or ``fallback`` if JSON cannot say it."""
    try:
        return json.dumps(obj, indent=2, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        return fallback


class FunctionCallbackHandler(BaseTracer):
    """Calls a function with a text for each start, end and failure of a chain, a model or a tool.

    Args:
        function: takes the text. It should be quick: it is called in the event loop.
    """

    run_inline = True
    name: str = "function_callback_handler"

    def __init__(self, function: Callable[[str], object]) -> None:
        super().__init__()
        self.function_callback: Callable[[str], object] = function

    def _persist_run(self, run: Run) -> None: ...

    def get_parents(self, run: Run) -> list[Run]:
        """Return the runs that ``run`` is inside, the innermost first."""
        parents: list[Run] = []
        while (parent := self.run_map.get(str(run.parent_run_id))) is not None:
            parents.append(parent)
            run = parent
        return parents

    def get_breadcrumbs(self, run: Run) -> str:
        """Return the kinds and names of the runs that ``run`` is inside, and its own."""
        return " > ".join(f"{one.run_type}:{one.name}" for one in [*reversed(self.get_parents(run)), run])

    def _tell(self, run: Run, kind: str, what: str, title: str, text: str) -> None:
        took = "" if run.end_time is None else f" [{_show_time(run)}]"
        label = f"\x1b[{_COLORS[what]};1m\x1b[1m[{kind}/{what}]\x1b[0m"
        self.function_callback(f"{label} \x1b[1m[{self.get_breadcrumbs(run)}]{took} {title}:\n\x1b[0m{text}")

    def _on_chain_start(self, run: Run) -> None:
        title = f"Entering {run.run_type.capitalize()} run with input"
        self._tell(run, "chain", "start", title, try_json_stringify(run.inputs, "[inputs]"))

    def _on_chain_end(self, run: Run) -> None:
        title = f"Exiting {run.run_type.capitalize()} run with output"
        self._tell(run, "chain", "end", title, try_json_stringify(run.outputs, "[outputs]"))

    def _on_chain_error(self, run: Run) -> None:
        self._tell(run, "chain", "error", f"{run.run_type.capitalize()} run errored with error", repr(run.error))

    def _on_llm_start(self, run: Run) -> None:
        inputs = {"prompts": [prompt.strip() for prompt in run.inputs["prompts"]]}
        self._tell(run, "llm", "start", "Entering LLM run with input", try_json_stringify(inputs, "[inputs]"))

    def _on_chat_model_start(self, run: Run) -> None:
        self._on_llm_start(run)

    def _on_llm_end(self, run: Run) -> None:
        text = try_json_stringify(run.outputs, "[response]")
        self._tell(run, "llm", "end", "Exiting LLM run with output", text)

    def _on_llm_error(self, run: Run) -> None:
        self._tell(run, "llm", "error", "LLM run errored with error", repr(run.error))

    def _on_tool_start(self, run: Run) -> None:
        self._tell(run, "tool", "start", "Entering Tool run with input", f'"{str(run.inputs["input"]).strip()}"')

    def _on_tool_end(self, run: Run) -> None:
        self._tell(run, "tool", "end", "Exiting Tool run with output", f'"{str(run.outputs["output"]).strip()}"')

    def _on_tool_error(self, run: Run) -> None:
        self._tell(run, "tool", "error", "Tool run errored with error", repr(run.error))


def _show_time(run: Run) -> str:
    assert run.end_time is not None
    seconds = (run.end_time - run.start_time).total_seconds()
    return f"{seconds * 1000:.0f}ms" if seconds < 1 else f"{seconds:.2f}s"


class ConsoleCallbackHandler(FunctionCallbackHandler):
    """Prints each start, end and failure of a chain, a model or a tool."""

    name: str = "console_callback_handler"

    def __init__(self) -> None:
        super().__init__(print)
