"""Prompts: what models are asked, with variables in it. LangChain's names."""

from hocket.prompts.base import BasePromptTemplate
from hocket.prompts.chat import (
    BaseChatPromptTemplate,
    BaseMessagePromptTemplate,
    ChatPromptTemplate,
    MessagesPlaceholder,
)
from hocket.prompts.dict import DictPromptTemplate
from hocket.prompts.example_selectors import BaseExampleSelector, LengthBasedExampleSelector
from hocket.prompts.few_shot import FewShotChatMessagePromptTemplate, FewShotPromptTemplate
from hocket.prompts.formats import check_valid_template, get_template_variables, jinja2_formatter
from hocket.prompts.message import (
    AIMessagePromptTemplate,
    ChatMessagePromptTemplate,
    HumanMessagePromptTemplate,
    SystemMessagePromptTemplate,
)
from hocket.prompts.string import PromptTemplate, StringPromptTemplate

__all__ = [
    "AIMessagePromptTemplate",
    "BaseChatPromptTemplate",
    "BaseExampleSelector",
    "BaseMessagePromptTemplate",
    "BasePromptTemplate",
    "ChatMessagePromptTemplate",
    "ChatPromptTemplate",
    "DictPromptTemplate",
    "FewShotChatMessagePromptTemplate",
    "FewShotPromptTemplate",
    "HumanMessagePromptTemplate",
    "LengthBasedExampleSelector",
    "MessagesPlaceholder",
    "PromptTemplate",
    "StringPromptTemplate",
    "SystemMessagePromptTemplate",
    "check_valid_template",
    "get_template_variables",
    "jinja2_formatter",
]
