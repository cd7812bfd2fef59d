"""What the chains of documents have in common: passages in, one text out."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar

from pydantic import SkipValidation

from hocket._runtime.runtime import Runtime
from hocket._runtime.stream import Sink
from hocket.chains.ask import AnyPrompt
from hocket.chains.outlet import Outlet
from hocket.chains.passages import Passage, check_documents
from hocket.chains.reader import Combined, DocumentReader, DocumentRun
from hocket.classic.chains.base import Chain, ChainOptions
from hocket.documents import Document
from hocket.messages.content import Fields, FieldsView
from hocket.runnables import RunnableConfig
from hocket.runnables.base import AnyRunnable

__all__ = ["BaseCombineDocumentsChain", "DocumentOptions"]


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


class BaseCombineDocumentsChain(Chain):
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
    def output_keys(self) -> list[str]:
        """The name of the answer."""
        return [self.output_key]

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
            reader.check_prompt(prompt, self._own_variables_of(prompt))
        super()._check_keys()

    def _own_variables_of(self, prompt: AnyPrompt) -> frozenset[str]:
        """Return those of the chain's own variables that this prompt must have."""
        return frozenset()

    async def _execute(self, runtime: Runtime, inputs: Fields, config: RunnableConfig, outlet: Outlet) -> Fields:
        documents = check_documents(inputs[self.input_key], f"the input {self.input_key!r}")
        sink = outlet.get_sink(self.output_key)
        return {self.output_key: (await self.combine(runtime, documents, inputs, config, sink)).text}

    async def combine(
        self,
        runtime: Runtime,
        documents: Sequence[Document],
        values: FieldsView,
        config: RunnableConfig,
        sink: Sink[str] | None = None,
    ) -> Combined:
        """Return what is made of documents: for chains that find them first. See `DocumentRun.read`."""
        run = DocumentRun(self._reader, runtime, values, config, sink)
        return await run.read(documents, self._combine)

    @property
    def _can_step(self) -> bool:
        return self.llm._can_step
