"""A question about numbers: the model writes an expression, and hocket computes it."""

import re
from typing import Unpack

from pydantic import SkipValidation

from hocket._runtime.mode import Mode
from hocket.chains.ask import AnyPrompt, ask_model, fill_prompt, get_answer_text
from hocket.chains.outlet import Outlet
from hocket.classic.chains.base import ChainOptions, KeyedChain, MadeFromModel
from hocket.errors import InvalidInput, OutputParserException
from hocket.errors.hints import excerpt
from hocket.messages.content import Fields
from hocket.prompts import ChatPromptTemplate
from hocket.runnables import RunnableConfig
from hocket.runnables.base import AnyRunnable
from hocket.tools.arithmetic import FUNCTIONS
from hocket.tools.calculator import calculate

__all__ = ["LLMMathChain"]

MATH_PROMPT = ChatPromptTemplate(
    [
        (
            "system",
            "Write the one arithmetic expression whose value answers the question, in one line and with nothing else: no "
            "words, no units, no equals sign, and do not compute it. It may have numbers, brackets, + - * / // % **, pi, e "
            f"and these functions: {', '.join(FUNCTIONS)}. Angles are in radians; log is the natural one. Per cent are "
            "written as a product: 20% of 50 is 0.2 * 50.",
        ),
        ("human", "{question}"),
    ]
)
"""Variable: ``question``."""

_FENCE = re.compile(r"```[a-z]*[^\S\n]*\n(.*?)```", re.DOTALL)  # in linear time: a model may be told to write anything
_ANSWER = "Answer: "


class LLMMathChain(MadeFromModel, KeyedChain):
    """Has a model write an expression for a question, and computes it: ``{"question"}`` → ``{"question", "answer"}``.

    Nothing that the model writes is run as code: see `hocket.tools.calculator.calculate`. The answer is a text,
    ``Answer: 98``, as LangChain's.

    Args:
        llm: a chat model or a text model.
        prompt: asks for an expression; default: hocket's own.
        input_key, output_key: names of the question and of the answer.
        options: see `Chain`.

    Raises, from every verb:
        OutputParserException: what the model wrote is no expression, or its value is none.

    Examples:
        >>> from hocket import ScriptedChatModel
        >>> chain = LLMMathChain.from_llm(ScriptedChatModel(script=["2 * (3 + 4) ** 2"]))
        >>> chain.invoke({"question": "Twice the square of three plus four?"})["answer"]
        'Answer: 98'
    """

    llm: SkipValidation[AnyRunnable]
    prompt: SkipValidation[AnyPrompt] = MATH_PROMPT
    input_key: str = "question"
    output_key: str = "answer"

    def __init__(
        self,
        llm: AnyRunnable,
        prompt: AnyPrompt | None = None,
        *,
        input_key: str = "question",
        output_key: str = "answer",
        **options: Unpack[ChainOptions],
    ) -> None:
        fields: Fields = {"llm": llm, "prompt": prompt or MATH_PROMPT}
        fields |= {"input_key": input_key, "output_key": output_key}
        super().__init__(**fields, **options)

    async def _execute(self, mode: Mode, inputs: Fields, config: RunnableConfig, outlet: Outlet) -> Fields:
        prompt = await fill_prompt(mode, self.prompt, {**inputs, "question": inputs[self.input_key]})
        reply = get_answer_text(await ask_model(mode, self.llm, prompt, config))
        return {self.output_key: _ANSWER + _compute(reply)}

    @property
    def _can_step(self) -> bool:
        return self.llm._can_step


def _compute(reply: str) -> str:
    """Return the value of the expression in a reply: in its fence, if it has one."""
    fences = _FENCE.findall(reply)
    expression = (fences[-1] if fences else reply).strip().strip("`").strip().removeprefix(_ANSWER)
    try:
        return calculate(expression)
    except InvalidInput as error:
        raise OutputParserException(
            f"the model's expression {excerpt(expression)} cannot be computed: {error}",
            observation=str(error),
            llm_output=reply,
        ) from error
