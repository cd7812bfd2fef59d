"""Prompts compared: the same questions, asked with each of several formats, and what came of them in numbers."""

import inspect
import unicodedata
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

from hocket._runtime.sync_twin import sync_function
from hocket.agents.agent import Agent
from hocket.agents.create import ToolLike, create_agent
from hocket.agents.limits import AgentLimits, RunUsage, StopReason
from hocket.agents.middleware import AgentMiddleware, ModelHandler, ModelRequest
from hocket.agents.model_call import FEEDBACK
from hocket.agents.react.format import ReActFormat
from hocket.agents.react.templates import TEMPLATES
from hocket.agents.react.words import LANGUAGES, Language
from hocket.agents.result import AgentResult
from hocket.errors import InvalidInput
from hocket.language_models import init_chat_model
from hocket.messages import AIMessage
from hocket.runnables import Runnable, RunnableConfig
from hocket.runnables.batch import Batch
from hocket.runnables.config import ensure_config, merge_configs

__all__ = ["CaseOutcome", "PromptBenchmark", "PromptMetrics", "abenchmark_prompts", "benchmark_prompts"]

Check = str | Callable[[str], bool | Awaitable[bool]]
Cases = Sequence[tuple[str, Check]]
Templates = Mapping[str, ReActFormat | str]


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseOutcome:
    """How one question went with one prompt.

    Attributes:
        question: that was asked.
        is_success: whether there was an answer, and the check found it right.
        output: the answer; None: there was none.
        stop: why the run ended; None: it failed.
        turns: calls of the model.
        parse_errors: replies that could not be read.
        tokens: that the models of the run reported.
        error: that ended the run, or that the check raised.
    """

    question: str
    is_success: bool
    output: str | None
    stop: StopReason | None
    turns: int
    parse_errors: int
    tokens: int
    error: Exception | None = None


@dataclass(frozen=True, slots=True)
class PromptMetrics:
    """How all questions went with one prompt.

    Attributes:
        format: that wrote the prompt; ``create_agent(..., style=format)`` takes it.
        outcomes: one for each question, in their order.
    """

    format: ReActFormat
    outcomes: Sequence[CaseOutcome]

    @property
    def success_rate(self) -> float:
        """The share of questions that were answered right, from 0 to 1."""
        return sum(one.is_success for one in self.outcomes) / len(self.outcomes)

    @property
    def parse_errors(self) -> int:
        """Replies that could not be read."""
        return sum(one.parse_errors for one in self.outcomes)

    @property
    def turns(self) -> int:
        """Calls of the model."""
        return sum(one.turns for one in self.outcomes)

    @property
    def tokens(self) -> int:
        """Tokens that were reported."""
        return sum(one.tokens for one in self.outcomes)

    @property
    def errors(self) -> list[Exception]:
        """What ended runs, or was raised by checks."""
        return [one.error for one in self.outcomes if one.error is not None]


@dataclass(frozen=True)
class PromptBenchmark(Mapping[str, PromptMetrics]):
    """The metrics of each prompt, by its name. As a text it is a table.

    Attributes:
        metrics: in the order in which the prompts were given.
    """

    metrics: Mapping[str, PromptMetrics]

    def __getitem__(self, name: str) -> PromptMetrics:
        return self.metrics[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.metrics)

    def __len__(self) -> int:
        return len(self.metrics)

    def __str__(self) -> str:
        rows = [["prompt", "success", "parse errors", "turns", "tokens", "failed runs"]]
        for name, one in self.metrics.items():
            numbers = (one.parse_errors, one.turns, one.tokens, len(one.errors))
            rows.append([name, f"{one.success_rate:.0%}", *map(str, numbers)])
        widths = [max(map(_measure_width, column)) for column in zip(*rows, strict=True)]
        return "\n".join("  ".join(map(_pad, row, widths, range(len(row)))) for row in rows)


def _measure_width(text: str) -> int:
    """Return how many columns of a terminal a text takes: a Chinese character takes two."""
    return sum(2 if unicodedata.east_asian_width(sign) in "WF" else 1 for sign in text)


def _pad(text: str, width: int, column: int) -> str:
    """Return a text of a width: names stand at the left, numbers at the right."""
    blanks = " " * (width - _measure_width(text))
    return blanks + text if column else text + blanks


async def abenchmark_prompts(
    model: Runnable[Any, AIMessage] | str,
    cases: Cases,
    templates: Templates | None = None,
    tools: Sequence[ToolLike] = (),
    *,
    language: Language = "en",
    limits: AgentLimits | None = None,
    max_concurrency: int = 4,
    config: RunnableConfig | None = None,
) -> PromptBenchmark:
    """Ask a model the same questions with each of several prompts of the text style, and count how that went.

    A run that fails is counted, and the others go on.

    Args:
        model: as `create_agent` takes it. It has to answer calls at once.
        cases: questions, each with a text that the answer has to hold (in capitals or not), or a function that says
            whether the answer is right, sync or async.
        templates: formats, or templates as `ReActFormat` takes them, by the names they have in the report. Default:
            three that come with hocket, "standard", "detailed" and "concise" (in Chinese "标准", "详细", "简洁").
        tools: that the model may call. Without any, all prompts would be alike, and none is asked.
        language: of the templates that are texts, and of the default.
        limits: of each run; default: 10 calls of the model. At a limit there is no answer.
        max_concurrency: runs at once.
        config: callbacks, tags and metadata of the runs.

    Raises:
        InvalidInput: there are no cases, templates or tools, or one of them is not of its kind. Nothing was asked.

    Examples:
        >>> from hocket.agents import benchmark_prompts, calculator_tool
        >>> from hocket.messages import AIMessage
        >>> from hocket.runnables import RunnableLambda
        >>> model = RunnableLambda(lambda messages: AIMessage("Thought: easy\\nFinal Answer: 4"))
        >>> cases = [("What is 2 + 2?", "4"), ("What is 2 + 3?", lambda answer: answer == "5")]
        >>> report = benchmark_prompts(model, cases, tools=[calculator_tool])
        >>> print(report)
        prompt    success  parse errors  turns  tokens  failed runs
        standard      50%             0      2       0            0
        detailed      50%             0      2       0            0
        concise       50%             0      2       0            0
    """
    _check_cases(cases)
    if not tools:
        raise InvalidInput("there are no tools: prompts differ in how they have the model call them; pass tools=[...]")
    formats = _read_templates(templates, language)
    if isinstance(model, str):
        model = init_chat_model(model)
    bounds = AgentLimits(model_calls=10) if limits is None else limits
    create_agent(model, tools, limits=bounds, style=ReActFormat())  # refuses bad arguments before any model is asked
    shared = cast(RunnableConfig, {key: value for key, value in ensure_config(config).items() if key != "run_id"})

    async def ask(job: tuple[ReActFormat, tuple[str, Check]], _: RunnableConfig) -> CaseOutcome:
        counter = _Counter()
        agent = create_agent(model, tools, limits=bounds, style=job[0], middleware=[counter], at_limit="stop")
        return await _ask_case(agent, counter, *job[1], shared)

    jobs = [(format, case) for format in formats.values() for case in cases]
    outcomes = await Batch(ask, jobs, {"max_concurrency": max_concurrency}, return_exceptions=False).collect()
    count = len(cases)
    return PromptBenchmark(
        {
            name: PromptMetrics(format, outcomes[place * count : (place + 1) * count])
            for place, (name, format) in enumerate(formats.items())
        }
    )


benchmark_prompts: Final = sync_function(abenchmark_prompts)
"""Compare prompts of the text style: the sync twin of `abenchmark_prompts`."""


class _Counter(AgentMiddleware):
    """Counts, for one run, the calls of the model and the replies that could not be read."""

    def __init__(self) -> None:
        self.turns = self.parse_errors = 0

    async def wrap_model_call(self, request: ModelRequest, handler: ModelHandler) -> AIMessage:
        self.turns += 1
        reply = await handler(request)
        self.parse_errors += FEEDBACK in reply.response_metadata
        return reply


async def _ask_case(
    agent: Agent[str], counter: _Counter, question: str, check: Check, config: RunnableConfig
) -> CaseOutcome:
    """Return how one question went, whatever is raised."""
    usage = RunUsage()
    result: AgentResult[str] | None = None
    error: Exception | None = None
    is_success = False
    try:
        result = await agent.ainvoke(question, merge_configs(config, {"callbacks": [usage]}))
        is_success = result.output is not None and await _is_right(check, result.output)
    except Exception as raised:
        error = raised
    return CaseOutcome(
        question=question,
        is_success=is_success,
        output=result.output if result else None,
        stop=result.stop if result else None,
        turns=counter.turns,
        parse_errors=counter.parse_errors,
        tokens=usage.total["total_tokens"],
        error=error,
    )


async def _is_right(check: Check, output: str) -> bool:
    if isinstance(check, str):
        return check.casefold() in output.casefold()
    answer = check(output)
    return bool(await answer if inspect.isawaitable(answer) else answer)


def _check_cases(cases: object) -> None:
    if not isinstance(cases, Sequence) or isinstance(cases, str) or not cases:
        raise InvalidInput(f"cases is {cases!r}; it is a list of pairs, with at least one: [('What is 2 + 2?', '4')]")
    for case in cast("Sequence[object]", cases):
        if not _is_case(case):
            raise InvalidInput(
                f"{case!r} is no case; it is a question, and a text that the answer has to hold, or a function that "
                "says whether the answer is right"
            )


def _is_case(case: object) -> bool:
    if not isinstance(case, tuple | list) or len(pair := cast("Sequence[object]", case)) != 2:
        return False
    question, check = pair
    is_check = bool(check.strip()) if isinstance(check, str) else callable(check)
    return isinstance(question, str) and bool(question.strip()) and is_check


def _read_templates(templates: Templates | None, language: Language) -> dict[str, ReActFormat]:
    """Return the formats by their names."""
    if language not in LANGUAGES:
        raise InvalidInput(f"language is {language!r}; it must be one of {', '.join(LANGUAGES)}")
    if templates is None:
        return {name: ReActFormat(language, text) for name, text in TEMPLATES[language].items()}
    if not isinstance(templates, Mapping) or not templates:  # pyright: ignore[reportUnnecessaryIsInstance]  # a caller's mistake
        raise InvalidInput(f"templates is {templates!r}; it has at least one format or template, by its name")
    for name, one in templates.items():
        if not isinstance(one, ReActFormat | str):  # pyright: ignore[reportUnnecessaryIsInstance]  # a caller's mistake
            raise InvalidInput(f"the template {name!r} is {one!r}; it is a ReActFormat, or the text of a template")
    return {name: ReActFormat(language, one) if isinstance(one, str) else one for name, one in templates.items()}
