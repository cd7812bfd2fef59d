"""Prompts: what models are asked, with variables in it. LangChain's names."""

from hocket.documents.formatting import aformat_document, format_document
from hocket.prompts import hub as hub
from hocket.prompts.base import BasePromptTemplate, FormatOutputType as FormatOutputType
from hocket.prompts.chat import (
    BaseChatPromptTemplate,
    BaseMessagePromptTemplate,
    ChatPromptTemplate,
    MessagesPlaceholder,
)
from hocket.prompts.dict import DictPromptTemplate
from hocket.prompts.example_selectors import BaseExampleSelector, LengthBasedExampleSelector
from hocket.prompts.few_shot import (
    FewShotChatMessagePromptTemplate,
    FewShotPromptTemplate,
    FewShotPromptWithTemplates,
)
from hocket.prompts.formats import (
    check_valid_template,
    get_template_variables,
    jinja2_formatter,
    mustache_formatter as mustache_formatter,
    mustache_template_vars as mustache_template_vars,
    validate_jinja2,
)
from hocket.prompts.image import ImagePromptTemplate
from hocket.prompts.loading import load_prompt, load_prompt_from_config as load_prompt_from_config
from hocket.prompts.message import (
    AIMessagePromptTemplate,
    BaseStringMessagePromptTemplate,
    ChatMessagePromptTemplate,
    HumanMessagePromptTemplate,
    PromptTemplate,
    StringPromptTemplate,
    SystemMessagePromptTemplate,
)
from hocket.prompts.structured import StructuredPrompt

__all__ = [
    "AIMessagePromptTemplate",
    "BaseChatPromptTemplate",
    "BaseExampleSelector",
    "BaseMessagePromptTemplate",
    "BasePromptTemplate",
    "BaseStringMessagePromptTemplate",
    "ChatMessagePromptTemplate",
    "ChatPromptTemplate",
    "DictPromptTemplate",
    "FewShotChatMessagePromptTemplate",
    "FewShotPromptTemplate",
    "FewShotPromptWithTemplates",
    "HumanMessagePromptTemplate",
    "ImagePromptTemplate",
    "LengthBasedExampleSelector",
    "MessagesPlaceholder",
    "PromptTemplate",
    "StringPromptTemplate",
    "StructuredPrompt",
    "SystemMessagePromptTemplate",
    "aformat_document",
    "check_valid_template",
    "format_document",
    "get_template_variables",
    "jinja2_formatter",
    "load_prompt",
    "validate_jinja2",
]
