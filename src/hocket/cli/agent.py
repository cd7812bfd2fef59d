"""``hocket agent``: a model that works with tools until it has the answer.

The answer goes to standard output once it is there: until a message has ended, nobody knows whether it is the answer, or
what is said along with a call. Calls and their results go to standard error as they come.
"""

import argparse
import contextlib
import json
import shlex
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from hocket.cli.approval import ask_person, can_ask, describe_call, parse_decision
from hocket.cli.arguments import (
    OneLineParser,
    add_history_options,
    add_model_options,
    add_tool_options,
    parse_count,
    parse_names,
)
from hocket.cli.exits import FAILED, PAUSED
from hocket.cli.model_options import read_model_options
from hocket.cli.named_objects import load_functions, load_tools
from hocket.cli.output import accept_any_text, note, print_lines, squeeze
from hocket.cli.standard_input import read_question
from hocket.errors import InvalidInput
from hocket.errors.hints import near_name, shorten

if TYPE_CHECKING:
    from hocket.agents import AgentEvent, AgentResult, Resume
    from hocket.agents.agent import Agent
    from hocket.chat_history import BaseChatMessageHistory
    from hocket.messages import UsageMetadata
    from hocket.tools import BaseTool

__all__ = ["HELP", "configure", "load_named_tools", "run", "show_event"]

HELP = "Let a model answer with the help of tools."

_EXAMPLE = 'hocket agent --tool calculator "What is 17 * 23?"'
_SHOWN = 300  # characters of a call, and of its result, on standard error


def configure(parser: OneLineParser) -> None:
    """Add the arguments of this subcommand."""
    parser.declare("question", "what to ask, followed by what is piped in; `-`: what is piped in", nargs="*")
    add_model_options(parser)
    add_tool_options(parser)
    parser.declare("--mcp SERVER ...", "the tools of an MCP server, a command or a URL; several times for several")
    add_history_options(parser)
    parser.declare(
        "--approve",
        "ask: a tool runs when you have approved its call; on no terminal, the run pauses (default with --interrupt-on and "
        "--resume); never: nobody is asked",
        choices=["ask", "never"],
    )
    parser.declare(
        "--interrupt-on NAMES",
        "the tools whose calls you approve, separated by commas (default with --approve ask: all)",
        type=parse_names,
    )
    parser.declare("--resume", "go on with the last run of --history")
    parser.declare(
        "--decide ID=WHAT ...",
        'with --resume: approve or reject the call that waits; or JSON, such as ID={"type": "edit", "args": {...}}',
        type=parse_decision,
    )
    parser.declare(
        "--style",
        "how tools are called: natively, or in text (auto: in text if the model cannot otherwise)",
        choices=["auto", "native", "react"],
        default="auto",
    )
    parser.declare("--max-steps N", "how often the model is asked at most (default: 25)", type=parse_count)
    parser.declare("--json", "print one JSON object: output, stop, pending, usage, counts")


def run(arguments: argparse.Namespace) -> int:
    """Run the agent, and print its answer; return the exit code.

    Raises:
        KeyboardInterrupt: Ctrl-C; what was done is kept.
        HocketError: an option is wrong, or goes with none of the others; or what the model, the history or a server of
            tools raises.
    """
    accept_any_text()
    is_asked = _check_options(arguments)
    asked = _read_input(arguments)

    from hocket.cli.history import open_kept_history

    with contextlib.ExitStack() as stack:
        history = stack.enter_context(open_kept_history(arguments.history, arguments.session))
        agent = _make_agent(arguments, stack)
        result, counts = _run_agent(agent, asked, history, is_asked)
    _print_result(result, counts, as_json=arguments.json)
    return _tell_end(result, arguments)


def _check_options(arguments: argparse.Namespace) -> bool:
    """Return whether calls may be approved here and now.

    Raises:
        InvalidInput: options contradict one another, or nobody could ever approve.
    """
    is_resuming: bool = arguments.resume
    if arguments.approve is None:
        arguments.approve = "ask" if arguments.interrupt_on or is_resuming else "never"
    if arguments.decide and not is_resuming:
        raise InvalidInput("--decide is about a run that paused: say  --resume --history WHERE  as well")
    ids: list[str] = [call_id for call_id, _ in arguments.decide]
    if len(set(ids)) < len(ids):
        twice = next(call_id for call_id in ids if ids.count(call_id) > 1)
        raise InvalidInput(f"--decide decides {twice!r} twice; a call has one decision")
    if is_resuming and arguments.history is None:
        raise InvalidInput("--resume goes on with a run that was kept: say where, with --history WHERE")
    if is_resuming and arguments.question:
        raise InvalidInput("--resume goes on with the last question; a new one is asked without it")
    if arguments.approve == "never" and arguments.interrupt_on:
        raise InvalidInput(
            "--interrupt-on names tools that wait for approval, and --approve never asks for none; drop one"
        )
    if arguments.approve == "ask" and not can_ask() and arguments.history is None:
        raise InvalidInput("without a terminal nobody can be asked; --history WHERE keeps the run until you decide")
    return arguments.approve == "ask" and can_ask()


def _read_input(arguments: argparse.Namespace) -> "str | Resume":
    """Return the question, or what goes on with a run."""
    from hocket.agents import Resume

    if arguments.resume:
        return Resume(dict(arguments.decide))
    question = read_question(arguments.question, _EXAMPLE)
    if question is None:
        raise InvalidInput(f"there is no question; write  {_EXAMPLE}")
    return question


def _make_agent(arguments: argparse.Namespace, stack: contextlib.ExitStack) -> "Agent[str]":
    from hocket.agents import AgentLimits, create_agent
    from hocket.cli.choice import open_first_model

    tools = load_named_tools(arguments.tools, arguments.functions)
    model = open_first_model(arguments.model, arguments.base_url, read_model_options(arguments))
    tools += [tool for server in arguments.mcp for tool in _connect(server, stack)]
    interrupt_on: list[str] = [] if arguments.approve == "never" else [tool.name for tool in tools]
    try:
        return create_agent(
            model.model,
            tools,
            system_prompt=arguments.system,
            interrupt_on=arguments.interrupt_on or interrupt_on,
            limits=AgentLimits(model_calls=arguments.max_steps) if arguments.max_steps else None,
            style=arguments.style,
        )
    except NotImplementedError:
        raise InvalidInput(f"{model.label} calls no tools natively; --style react asks it in text") from None


def load_named_tools(names: Sequence[str], functions: Sequence[str] = ()) -> "list[BaseTool]":
    """Return the tools that the command line names, and those that it gives as code.

    Raises:
        InvalidInput: there is no such tool, or the code defines none.
    """
    from hocket.agents import calculator_tool
    from hocket.tools.calls import index_by_name

    tools = [one for code in functions for one in load_functions(code)]
    for name in names:
        if name == "calculator":
            tools.append(calculator_tool)
        elif ":" in name:
            tools.extend(load_tools(name))
        else:
            near = f"did you mean {own}?" if (own := near_name(name, ["calculator"])) else "there is calculator"
            raise InvalidInput(f"there is no tool {name!r}; {near}, and module:name is for your own")
    return [*index_by_name(tools).values()]


def _connect(server: str, stack: contextlib.ExitStack) -> "list[BaseTool]":
    """Return the tools of an MCP server. The connection lives on hocket's own event loop, where the agent runs."""
    from hocket._runtime.portal import run_in_portal
    from hocket.agents.mcp import mcp_tools

    connection = mcp_tools(server)
    stack.callback(run_in_portal, connection.aclose)
    return run_in_portal(connection.__aenter__)


class _Counts:
    """What a run has used, over its pauses."""

    def __init__(self) -> None:
        self.usage: UsageMetadata | None = None
        self.usage_unknown = self.model_calls = self.tool_calls = 0

    def add(self, result: "AgentResult[str]") -> None:
        from hocket.messages import add_usage

        self.usage = add_usage(self.usage, result.usage)
        self.usage_unknown += result.usage_unknown
        self.model_calls += result.model_calls
        self.tool_calls += result.tool_calls


def _run_agent(
    agent: "Agent[str]", asked: "str | Resume", history: "BaseChatMessageHistory", is_asked: bool
) -> "tuple[AgentResult[str], _Counts]":
    """Run the agent, and show its steps; where a call waits and a person is there, ask, and go on."""
    from hocket.agents import Resume

    counts = _Counts()
    while True:
        with agent.stream(asked, history=history) as events:
            for event in events:
                show_event(event)
        result = events.result
        assert result is not None
        counts.add(result)
        decisions = ask_person(result.pending) if is_asked and result.pending else None
        if decisions is None:
            return result, counts
        asked = Resume(decisions)


def show_event(event: "AgentEvent", *, with_text: bool = True) -> None:
    """Tell on standard error of a call, its result, a reply that could not be read, and, ``with_text``, of what the model
    says along with a call.
    """
    if event.kind == "message":
        if with_text and event.message.tool_calls and event.message.text:
            note(_shorten(event.message.text))
    elif event.kind == "unreadable":
        text = _shorten(event.reply.text) or "it is empty"
        note(f"a reply could not be read: {text} (the model is told: {_shorten(event.feedback)})")
    elif event.kind == "tool_start":
        note(_shorten(describe_call(event.call)))
    elif event.kind == "tool_end":
        note(f"{event.call['name']}: {_shorten(event.result.text)} ({event.seconds:.1f} s)")


def _shorten(text: str) -> str:
    return shorten(squeeze(text), _SHOWN)


def _print_result(result: "AgentResult[str]", counts: _Counts, *, as_json: bool) -> None:
    from hocket.cli.printer import Printer
    from hocket.messages import AIMessageChunk

    if as_json:
        pending = [{"id": call["id"], "tool": call["name"], "args": call["args"]} for call in result.pending]
        shown = {"output": result.output, "stop": result.stop, "pending": pending, **vars(counts)}
        print_lines([json.dumps(shown, default=str)])  # with escapes, so that no character of the output is lost
    elif result.output is not None:
        with Printer(sys.stdout) as printer:
            printer.show(AIMessageChunk(str(result.output)))  # a tool that ends the run may give it anything


def _tell_end(result: "AgentResult[str]", arguments: argparse.Namespace) -> int:
    """Say on standard error how it ended, if not with an answer; return the exit code."""
    for call in result.pending:
        note(f"{call['id']} waits for approval: {describe_call(call)}")
    if result.pending and arguments.history is None:
        note("the run was not kept; with --history WHERE it would go on later")
    elif result.pending:
        decision = shlex.quote(f"{result.pending[0]['id']}=approve")
        note(
            f"to go on, run the same command with  --resume --decide {decision}  (or =reject) in place of the question"
        )
    elif result.stop == "model_calls":
        note("the limit on steps was reached; --max-steps raises it")
    elif result.output is None:
        note(f"the run ended without an answer ({result.stop})")
    if result.pending:
        return PAUSED
    return FAILED if result.output is None else 0
