"""The chains of documents: passages in, one text out. Four ways to show documents to a model."""

import math
import re
from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar, NamedTuple, Unpack

from pydantic import SkipValidation

from hocket._runtime.mode import Mode
from hocket._runtime.stream import Sink
from hocket.chains.ask import AnyPrompt
from hocket.chains.clean import clean_text
from hocket.chains.outlet import Outlet
from hocket.chains.passage_window import PassageWindow
from hocket.chains.passages import Passage, check_documents
from hocket.chains.question_prompts import MAP_PROMPT, QUESTION_PROMPT, REDUCE_PROMPT, REFINE_PROMPT, RERANK_PROMPT
from hocket.chains.reader import Combined, DocumentReader, DocumentRun
from hocket.classic.chains.base import ChainOptions, KeyedChain, MadeFromModel
from hocket.documents import Document
from hocket.errors import ContextLengthExceeded, InvalidInput
from hocket.messages.content import Fields, FieldsView
from hocket.runnables import RunnableConfig
from hocket.runnables.base import AnyRunnable

__all__ = [
    "BaseCombineDocumentsChain",
    "DocumentOptions",
    "MapReduceDocumentsChain",
    "MapRerankDocumentsChain",
    "RefineDocumentsChain",
    "StuffDocumentsChain",
]

_EXISTING = "existing_answer"
_SCORE = re.compile(r"^[ \t*_#>-]*score[ \t*_]*[:=][ \t*_]*(?P<score>.*)$", re.IGNORECASE | re.MULTILINE)
_NUMBER = re.compile(r"[+-]?[0-9]+(?:[.,][0-9]+)?")
_TOKEN_MAX = 3000
"""Tokens of a request for notes to be made shorter, where nobody knows the model's window (LangChain's number)."""


class DocumentOptions(ChainOptions, total=False):
    """What every chain of documents may be given, beside `ChainOptions`.

    Keys:
        input_key, output_key: names of the documents and of the answer; default: ``input_documents`` and
            ``output_text``.
        document_variable_name: the variable of the prompts that gets the pieces; default: ``context``.
        document_prompt: what is shown of a document: ``page_content`` and its metadata are the variables. Default: its
            text.
    """

    input_key: str
    output_key: str
    document_variable_name: str
    document_prompt: AnyPrompt | None


class BaseCombineDocumentsChain(MadeFromModel, KeyedChain):
    """Makes one text out of documents, with a model: ``input_documents`` → ``output_text``.

    The further variables of its prompts, such as ``question``, are inputs, too. Where there are no documents, or none with
    text, the output says so, and no model is asked.

    Args:
        llm: a chat model or a text model, without tools.
        options: see `DocumentOptions`.

    Raises, when it is made:
        InvalidInput: a prompt lacks the variable for the pieces, or the model has tools bound: what stands in a document
            must not be able to have them called.
    """

    input_key: str = "input_documents"
    output_key: str = "output_text"
    document_variable_name: str = "context"
    document_prompt: SkipValidation[AnyPrompt | None] = None
    llm: SkipValidation[AnyRunnable]

    _own_variables: ClassVar[frozenset[str]] = frozenset()
    """Variables of the prompts that the chain itself gives, beside the pieces."""

    def __init__(self, **fields: object) -> None:
        given: Fields = {name: value for name, value in fields.items() if value is not None}  # the others: by default
        super().__init__(**given)

    @property
    @abstractmethod
    def _prompts(self) -> Sequence[AnyPrompt]:
        """The prompts, each of which shows pieces."""

    @abstractmethod
    async def _combine(self, run: DocumentRun, passages: Sequence[Passage]) -> tuple[str, Sequence[Passage]]:
        """Return the text made of ``passages``, and which of them a model was shown: a `PassageMethod`."""

    @property
    def input_keys(self) -> list[str]:
        """The documents, and the further variables of the prompts."""
        own = {self.document_variable_name, *self._own_variables}
        asked = [name for prompt in self._prompts for name in prompt.input_variables if name not in own]
        return [self.input_key, *dict.fromkeys(asked)]

    @property
    def _remembered_inputs(self) -> list[str]:
        return [key for key in self.asked_keys if key != self.input_key]

    @property
    def _reader(self) -> DocumentReader:
        """The model, and how it is shown documents."""
        return DocumentReader(self.llm, self.document_variable_name, self.document_prompt, self.get_name())

    def _check_keys(self) -> None:
        reader = self._reader
        for prompt in self._prompts:
            reader.check_prompt(prompt)
        super()._check_keys()

    async def _execute(self, mode: Mode, inputs: Fields, config: RunnableConfig, outlet: Outlet) -> Fields:
        documents = check_documents(inputs[self.input_key], f"the input {self.input_key!r}")
        sink = outlet.get_sink(self.output_key)
        return {self.output_key: (await self.combine(mode, documents, inputs, config, sink)).text}

    async def combine(
        self,
        mode: Mode,
        documents: Sequence[Document],
        values: FieldsView,
        config: RunnableConfig,
        sink: Sink[str] | None = None,
    ) -> Combined:
        """Return what is made of documents: for chains that find them first. See `DocumentRun.read`."""
        run = DocumentRun(self._reader, mode, values, config, sink)
        return await run.read(documents, self._combine)

    @property
    def _can_step(self) -> bool:
        return self.llm._can_step


class StuffDocumentsChain(BaseCombineDocumentsChain):
    """Shows a model all documents at once, best first, as many as fit into its window.

    A model that finds them too long all the same is shown the better half of them, and so on.

    Args:
        llm: a chat model or a text model, without tools.
        prompt: with ``{context}``, which gets the pieces; its other variables are inputs. Default: one that answers
            ``{question}`` with citations.
        options: see `DocumentOptions`.

    Examples:
        >>> from hocket import ScriptedChatModel
        >>> from hocket.documents import Document
        >>> chain = StuffDocumentsChain.from_llm(ScriptedChatModel(script=["In May [1]."]))
        >>> found = [Document("Bleed the boiler in May.", metadata={"source": "rules.txt"})]
        >>> chain.invoke({"input_documents": found, "question": "When?"}, return_only_outputs=True)
        {'output_text': 'In May [1].'}
    """

    prompt: SkipValidation[AnyPrompt] = QUESTION_PROMPT

    def __init__(self, llm: AnyRunnable, prompt: AnyPrompt | None = None, **options: Unpack[DocumentOptions]) -> None:
        super().__init__(llm=llm, prompt=prompt, **options)

    @property
    def _prompts(self) -> Sequence[AnyPrompt]:
        return [self.prompt]

    async def _combine(self, run: DocumentRun, passages: Sequence[Passage]) -> tuple[str, Sequence[Passage]]:
        return await run.stuff(self.prompt, passages)


class MapReduceDocumentsChain(BaseCombineDocumentsChain):
    """Has a model take notes on each document, and answer out of the notes.

    The notes are taken at once, as far as ``config["max_concurrency"]`` allows, and keep the order of the documents; the
    first failure cancels the others. Notes that do not fit into one request are made shorter first, group by group, as
    often as it takes.

    Args:
        llm: a chat model or a text model, without tools.
        map_prompt: for each document, with ``{context}``.
        reduce_prompt: for the notes, with ``{context}``.
        collapse_prompt: for notes that are made shorter, with ``{context}``; default: ``reduce_prompt``.
        token_max: how many tokens a request with notes may have; default: as many as the model's window takes, and 3,000
            where nobody knows that.
        options: see `DocumentOptions`.
    """

    map_prompt: SkipValidation[AnyPrompt] = MAP_PROMPT
    reduce_prompt: SkipValidation[AnyPrompt] = REDUCE_PROMPT
    collapse_prompt: SkipValidation[AnyPrompt | None] = None
    token_max: int | None = None

    def __init__(
        self,
        llm: AnyRunnable,
        map_prompt: AnyPrompt | None = None,
        reduce_prompt: AnyPrompt | None = None,
        *,
        collapse_prompt: AnyPrompt | None = None,
        token_max: int | None = None,
        **options: Unpack[DocumentOptions],
    ) -> None:
        if token_max is not None and token_max < 1:
            raise InvalidInput(f"token_max is {token_max}; it must be above 0")
        prompts = {"map_prompt": map_prompt, "reduce_prompt": reduce_prompt, "collapse_prompt": collapse_prompt}
        super().__init__(llm=llm, token_max=token_max, **prompts, **options)

    @property
    def _prompts(self) -> Sequence[AnyPrompt]:
        return [self.map_prompt, self.reduce_prompt, *([self.collapse_prompt] if self.collapse_prompt else [])]

    async def _combine(self, run: DocumentRun, passages: Sequence[Passage]) -> tuple[str, Sequence[Passage]]:
        async def note(run: DocumentRun, passage: Passage) -> Passage:
            return await _take_notes(run, [passage], self.map_prompt)

        async def shorten(run: DocumentRun, group: Sequence[Passage]) -> Passage:
            return await _take_notes(run, group, self.collapse_prompt or self.reduce_prompt)

        notes = await run.call_each(note, passages)
        window = PassageWindow(self.llm, self.token_max, self.token_max or _TOKEN_MAX)
        room = await window.find_room(run.mode, await run.fill(self.reduce_prompt, [])) or 0
        total = None
        while len(groups := window.group(notes, sizes := await window.measure(run.mode, notes), room)) > 1:
            if total is not None and sum(sizes) >= total:
                raise ContextLengthExceeded(
                    f"the notes on {len(passages)} pieces have {sum(sizes):,} tokens, {max(room, 0):,} fit into a request, "
                    "and the model does not make them shorter; raise token_max, or ask a model with a larger window"
                )
            total = sum(sizes)
            notes = await run.call_each(shorten, groups)
        return await run.ask(await run.fill(self.reduce_prompt, notes), run.sink), passages


async def _take_notes(run: DocumentRun, group: Sequence[Passage], prompt: AnyPrompt) -> Passage:
    """Return what the model notes on some passages, or on notes, as one passage."""
    text = await run.ask(await run.fill(prompt, group))
    numbers = tuple(number for one in group for number in one.numbers)
    return Passage(numbers, clean_text(text), group[0].source if len(group) == 1 else "")


class RefineDocumentsChain(BaseCombineDocumentsChain):
    """Has a model answer out of the first document, and then make that answer better with each of the others.

    Args:
        llm: a chat model or a text model, without tools.
        prompt: for the first document, with ``{context}``.
        refine_prompt: for the others, with ``{context}`` and ``{existing_answer}``.
        options: see `DocumentOptions`.
    """

    _own_variables: ClassVar[frozenset[str]] = frozenset({_EXISTING})

    prompt: SkipValidation[AnyPrompt] = QUESTION_PROMPT
    refine_prompt: SkipValidation[AnyPrompt] = REFINE_PROMPT

    def __init__(
        self,
        llm: AnyRunnable,
        prompt: AnyPrompt | None = None,
        refine_prompt: AnyPrompt | None = None,
        **options: Unpack[DocumentOptions],
    ) -> None:
        super().__init__(llm=llm, prompt=prompt, refine_prompt=refine_prompt, **options)

    @property
    def _prompts(self) -> Sequence[AnyPrompt]:
        return [self.prompt, self.refine_prompt]

    def _check_keys(self) -> None:
        self._reader.check_prompt(self.refine_prompt, self._own_variables)
        super()._check_keys()

    async def _combine(self, run: DocumentRun, passages: Sequence[Passage]) -> tuple[str, Sequence[Passage]]:
        text = await run.ask(await run.fill(self.prompt, passages[:1]), run.sink if len(passages) == 1 else None)
        for index, passage in enumerate(passages[1:], 2):
            await run.mode.sleep(0)  # a model that waits for nothing leaves others a turn
            prompt = await run.fill(self.refine_prompt, [passage], [text], **{_EXISTING: text})
            text = await run.ask(prompt, run.sink if index == len(passages) else None)
        return text, passages


class MapRerankDocumentsChain(BaseCombineDocumentsChain):
    """Asks a model about each document, for an answer and a score, and returns the answer with the highest score.

    All are asked at once, as far as ``config["max_concurrency"]`` allows; the first failure cancels the others. Of equal
    scores the first document's counts. A score that is no number comes after all that are.

    Args:
        llm: a chat model or a text model, without tools.
        prompt: with ``{context}``; it asks for a last line such as ``Score: 80``.
        options: see `DocumentOptions`.
    """

    prompt: SkipValidation[AnyPrompt] = RERANK_PROMPT

    def __init__(self, llm: AnyRunnable, prompt: AnyPrompt | None = None, **options: Unpack[DocumentOptions]) -> None:
        super().__init__(llm=llm, prompt=prompt, **options)

    @property
    def _prompts(self) -> Sequence[AnyPrompt]:
        return [self.prompt]

    async def _combine(self, run: DocumentRun, passages: Sequence[Passage]) -> tuple[str, Sequence[Passage]]:
        async def ask(run: DocumentRun, passage: Passage) -> _Scored:
            return _read_score(await run.ask(await run.fill(self.prompt, [passage])))

        answers = await run.call_each(ask, passages)
        return max(answers, key=lambda one: one.score).text, passages  # the first of equal ones


class _Scored(NamedTuple):
    """An answer, and how good its model thinks it is; minus infinity: it did not say."""

    text: str
    score: float


def _read_score(reply: str) -> _Scored:
    """Return the answer and the score of a reply: the last line that has one."""
    lines = [*_SCORE.finditer(reply)]
    if not lines:
        return _Scored(reply.strip(), -math.inf)
    last = lines[-1]
    number = _NUMBER.match(last["score"])
    text = (reply[: last.start()] + reply[last.end() :]).strip()
    return _Scored(text, float(number[0].replace(",", ".")) if number else -math.inf)
