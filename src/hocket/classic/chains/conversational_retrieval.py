"""A question that follows a conversation, answered out of documents."""

from collections.abc import Sequence
from typing import Unpack, cast

from pydantic import SkipValidation

from hocket._runtime.mode import Mode
from hocket.chains.ask import AnyPrompt, ask_model, check_tools, fill_prompt, get_answer_text
from hocket.chains.clean import clean_text
from hocket.chains.passage_window import PassageWindow
from hocket.chains.question_prompts import CONDENSE_PROMPT
from hocket.classic.chains.documents import BaseCombineDocumentsChain
from hocket.classic.chains.retrieval_base import AnsweringChain, RetrievalOptions, check_question, make_documents_chain
from hocket.errors import InvalidInput
from hocket.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    MessageLikeRepresentation,
    convert_to_messages,
    get_buffer_string,
)
from hocket.messages.content import Fields, FieldsView
from hocket.runnables import RunnableConfig
from hocket.runnables.base import AnyRunnable

__all__ = ["ConversationalRetrievalChain", "ConversationalRetrievalOptions", "read_history"]

_HISTORY = "chat_history"
_ROLES = ("human", "user", "ai", "assistant", "system")  # a pair that begins with one is a message


class ConversationalRetrievalOptions(RetrievalOptions, total=False):
    """What `ConversationalRetrievalChain` may be given, beside `RetrievalOptions`.

    Keys:
        condense_question_prompt: with ``{chat_history}`` and ``{question}``; default: hocket's own.
        return_generated_question: whether the output has ``"generated_question"``, what was looked for.
    """

    condense_question_prompt: AnyPrompt
    return_generated_question: bool


class ConversationalRetrievalChain(AnsweringChain):
    """Answers a question that follows a conversation out of documents, with citations.

    ``{"question"}`` → ``{"question", "answer", "citations", "unsupported", "left_out"}``; see `RetrievalQA`. What was said
    before comes from the memory or, without one, from an input ``chat_history``: messages, pairs of question and answer,
    or a text. Where something was said, the model first writes the question so that it can be understood alone; that one
    is looked for and answered. The first question is taken as it is.

    Args:
        retriever: a question in, documents out, best first.
        combine_documents_chain: what answers; its prompt has the question as ``{question}``.
        question_llm: writes the question again; a chat model or a text model.
        options: see `ConversationalRetrievalOptions`.

    Raises, when it is made:
        InvalidInput: the memory has several variables.
    """

    question_llm: SkipValidation[AnyRunnable]
    condense_question_prompt: SkipValidation[AnyPrompt] = CONDENSE_PROMPT
    return_generated_question: bool = False
    input_key: str = "question"
    output_key: str = "answer"

    def __init__(
        self,
        retriever: AnyRunnable,
        combine_documents_chain: BaseCombineDocumentsChain,
        question_llm: AnyRunnable,
        **options: Unpack[ConversationalRetrievalOptions],
    ) -> None:
        fields: Fields = {"combine_documents_chain": combine_documents_chain, "question_llm": question_llm, **options}
        super().__init__(retriever=retriever, **fields)

    @classmethod
    def from_llm(
        cls,
        llm: AnyRunnable,
        retriever: AnyRunnable,
        chain_type: str = "stuff",
        *,
        condense_question_llm: AnyRunnable | None = None,
        combine_docs_chain_kwargs: FieldsView | None = None,
        **options: Unpack[ConversationalRetrievalOptions],
    ) -> "ConversationalRetrievalChain":
        """Return a chain that asks one model.

        Args:
            llm: a chat model or a text model, without tools.
            retriever: see the class.
            chain_type: how the documents are shown: see `RetrievalQA.from_chain_type`.
            condense_question_llm: another model, which writes the question again.
            combine_docs_chain_kwargs: for ``from_llm`` of the chain of documents: its prompts, for example.
            options: see the class.
        """
        inner = make_documents_chain(llm, chain_type, combine_docs_chain_kwargs)
        return cls(retriever, inner, condense_question_llm or llm, **options)

    @property
    def input_keys(self) -> list[str]:
        """The question, the variable of the memory, and further variables of the prompts."""
        return [*dict.fromkeys([*super().input_keys, *self._known_keys])]

    @property
    def output_keys(self) -> list[str]:
        """Those of `RetrievalQA`, and what was looked for, if that is wanted."""
        return [*super().output_keys, *(["generated_question"] if self.return_generated_question else [])]

    def _check_keys(self) -> None:
        check_tools(self.question_llm)
        if len(self._known_keys) > 1:
            raise InvalidInput(f"the memory has the variables {self._known_keys}; one is what was said before")
        super()._check_keys()

    async def _find_question(self, mode: Mode, inputs: Fields, config: RunnableConfig) -> str:
        question = check_question(inputs[self.input_key], self.input_key)
        key = self._known_keys[0] if self._known_keys else _HISTORY
        past = read_history(inputs.get(key))
        if not past.strip():
            return question
        values: Fields = {_HISTORY: "", "question": question}
        empty = await fill_prompt(mode, self.condense_question_prompt, values)
        values[_HISTORY] = await PassageWindow(self.question_llm).keep_end(mode, past, empty)
        prompt = await fill_prompt(mode, self.condense_question_prompt, values)
        return get_answer_text(await ask_model(mode, self.question_llm, prompt, config)).strip() or question

    def _describe_question(self, question: str) -> Fields:
        return {"generated_question": question} if self.return_generated_question else {}


def read_history(history: object) -> str:
    """Return what was said before, as text with a line for each message.

    Args:
        history: a text, messages, pairs of question and answer, or None.

    Raises:
        InvalidInput: it is none of these.
    """
    if history is None or isinstance(history, str):
        return clean_text(history or "")
    if not isinstance(history, Sequence):
        raise InvalidInput(f"{_HISTORY!r} is {type(history).__name__}; it is a list of messages, or a text")
    messages: list[BaseMessage] = []
    for one in cast("Sequence[MessageLikeRepresentation]", history):
        if isinstance(one, tuple) and len(one) == 2 and one[0] not in _ROLES:
            asked, answered = cast("tuple[str, str]", one)
            messages += [HumanMessage(asked), AIMessage(answered)]
        else:
            messages += convert_to_messages([one])
    return clean_text(get_buffer_string(messages))
