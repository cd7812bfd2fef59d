"""Prompt values, results and documents, to LangChain's and back. Their classes have the same names and fields."""

from collections.abc import Sequence
from typing import cast

import langchain_core.documents as lc_documents
import langchain_core.outputs as lc
import langchain_core.prompt_values as lc_prompts
from langchain_core.outputs import RunInfo as LCRunInfo

from hocket import outputs as own, prompt_values as prompts
from hocket.documents import Document
from hocket.interop.langchain.messages import message_from_langchain, message_to_langchain
from hocket.load.serializable import construct
from hocket.messages import BaseMessageChunk
from hocket.messages.base import copy_containers

__all__ = [
    "chat_result_from_langchain",
    "chat_result_to_langchain",
    "document_from_langchain",
    "document_to_langchain",
    "generation_from_langchain",
    "generation_to_langchain",
    "llm_result_from_langchain",
    "llm_result_to_langchain",
    "prompt_value_from_langchain",
    "prompt_value_to_langchain",
]


def prompt_value_to_langchain(value: prompts.PromptValue) -> lc_prompts.PromptValue:
    """Return a prompt value as LangChain's; one of a class of the user's becomes its messages."""
    if isinstance(value, prompts.StringPromptValue):
        return lc_prompts.StringPromptValue(text=value.text)
    if isinstance(value, prompts.ImagePromptValue):
        return lc_prompts.ImagePromptValue(image_url=lc_prompts.ImageURL(**value.image_url))
    concrete = isinstance(value, prompts.ChatPromptValueConcrete)
    cls = lc_prompts.ChatPromptValueConcrete if concrete else lc_prompts.ChatPromptValue
    return cls(messages=[message_to_langchain(message) for message in value.to_messages()])  # type: ignore[misc]  # its user's own kinds among them


def prompt_value_from_langchain(value: lc_prompts.PromptValue) -> prompts.PromptValue:
    """Return LangChain's prompt value as hocket's; one of a class of the user's becomes its messages."""
    if isinstance(value, lc_prompts.StringPromptValue):
        return prompts.StringPromptValue(text=value.text)
    if isinstance(value, lc_prompts.ImagePromptValue):
        return prompts.ImagePromptValue(image_url=prompts.ImageURL(**value.image_url))
    concrete = isinstance(value, lc_prompts.ChatPromptValueConcrete)
    cls = prompts.ChatPromptValueConcrete if concrete else prompts.ChatPromptValue
    return cls(messages=[message_from_langchain(message) for message in value.to_messages()])  # type: ignore[misc]  # its user's own kinds among them


def generation_to_langchain(generation: own.Generation) -> lc.Generation:
    """Return one candidate, or a piece of one, as LangChain's."""
    info = copy_containers(generation.generation_info)
    if isinstance(generation, own.ChatGeneration):
        kind = lc.ChatGenerationChunk if isinstance(generation, own.ChatGenerationChunk) else lc.ChatGeneration
        message, name = message_to_langchain(generation.message), kind.__name__
        return construct(kind, text=generation.text, generation_info=info, type=name, message=message)
    text_kind = lc.GenerationChunk if isinstance(generation, own.GenerationChunk) else lc.Generation
    return text_kind(text=generation.text, generation_info=info)


def generation_from_langchain(generation: lc.Generation) -> own.Generation:
    """Return one of LangChain's candidates, or a piece of one, as hocket's."""
    info = copy_containers(generation.generation_info)
    if isinstance(generation, lc.ChatGeneration):
        return _chat_generation(generation, info)
    text_kind = own.GenerationChunk if isinstance(generation, lc.GenerationChunk) else own.Generation
    return text_kind(text=generation.text, generation_info=info)


def _chat_generation(generation: lc.ChatGeneration, info: dict[str, object] | None) -> own.ChatGeneration:
    message = message_from_langchain(generation.message)
    if isinstance(generation, lc.ChatGenerationChunk):
        return own.ChatGenerationChunk(message=cast(BaseMessageChunk, message), generation_info=info)
    return own.ChatGeneration(message=message, generation_info=info)


def chat_result_to_langchain(result: own.ChatResult) -> lc.ChatResult:
    """Return what a chat model's hook returns as LangChain's."""
    return _chat_result(result.generations, result.llm_output)


def _chat_result(candidates: Sequence[own.Generation], llm_output: dict[str, object] | None) -> lc.ChatResult:
    generations = [generation_to_langchain(one) for one in candidates]
    return construct(lc.ChatResult, generations=generations, llm_output=copy_containers(llm_output))


def chat_result_from_langchain(result: lc.ChatResult) -> own.ChatResult:
    """Return what a hook of LangChain's returned as hocket's."""
    generations = [_chat_generation(one, copy_containers(one.generation_info)) for one in result.generations]
    return own.ChatResult(generations=generations, llm_output=copy_containers(result.llm_output))


def llm_result_to_langchain(result: own.LLMResult) -> lc.LLMResult:
    """Return the answers to several prompts as LangChain's."""
    return construct(
        lc.LLMResult,
        generations=[[generation_to_langchain(one) for one in candidates] for candidates in result.generations],
        llm_output=copy_containers(result.llm_output),
        run=None if result.run is None else [LCRunInfo(run_id=one.run_id) for one in result.run],
        type="LLMResult",
    )


def llm_result_from_langchain(result: lc.LLMResult) -> own.LLMResult:
    """Return LangChain's answers to several prompts as hocket's."""
    return own.LLMResult(
        generations=[[generation_from_langchain(one) for one in candidates] for candidates in result.generations],
        llm_output=copy_containers(result.llm_output),
        run=None if result.run is None else [own.RunInfo(run_id=one.run_id) for one in result.run],
    )


def document_to_langchain(document: Document) -> lc_documents.Document:
    """Return a document as LangChain's, which has no ``score``: that belongs to a search."""
    return lc_documents.Document(
        page_content=document.page_content, metadata=copy_containers(document.metadata), id=document.id
    )


def document_from_langchain(document: lc_documents.Document) -> Document:
    """Return LangChain's document as hocket's."""
    return Document(document.page_content, metadata=copy_containers(document.metadata), id=document.id)
