"""Methods that LangChain has given up, and hocket never had, as the verbs that do the same.

``chain.run(x)`` is ``chain.invoke(x)["text"]``, ``llm.predict(x)`` is ``llm.invoke(x).text``, and ``chat(messages)`` is
``chat.invoke(messages)``. What is called has to be known for that: a variable that one class of hocket's is assigned to.
"""

import inspect
from dataclasses import dataclass

import libcst as cst

from hocket.classic.agents.executor import AgentExecutor
from hocket.classic.chains import Chain
from hocket.language_models import BaseChatModel, BaseLLM
from hocket.retrievers import BaseRetriever

__all__ = ["Verb", "find_verb", "write_awaited", "write_verb"]

_PLAIN = ("run", "predict", "call", "predict_messages", "get_relevant_documents")
_METHODS = frozenset({*_PLAIN, *(f"a{name}" for name in _PLAIN)})
_SETTINGS = frozenset({"callbacks", "tags", "metadata"})  # of a call, which are in its config now


@dataclass(frozen=True)
class Verb:
    """What a method is now.

    Args:
        name: the verb, ``invoke`` or ``ainvoke``.
        key: the value of its result that the method gave, if it gave one.
        is_text: whether the method gave the text of a message.
        is_named: whether the method's named arguments are values of the input.
        takes_more: whether the verb takes what the method took beside the input.
    """

    name: str
    key: str | None = None
    is_text: bool = False
    is_named: bool = False
    takes_more: bool = True

    @property
    def is_async(self) -> bool:
        """Whether it is awaited."""
        return self.name == "ainvoke"


def find_verb(kind: object, method: str, output_key: str | None) -> Verb | None:
    """Return what a method of LangChain's is, of an object of a class of hocket's; None: nothing is known.

    Args:
        kind: the class.
        method: its name; empty, where the object itself is called.
        output_key: the name of the chain's output, where the program says it.
    """
    if not isinstance(kind, type) or method not in _METHODS | {""}:
        return None
    name, plain = ("invoke", method) if method in {*_PLAIN, ""} else ("ainvoke", method[1:])
    if issubclass(kind, Chain | AgentExecutor):
        key = output_key or _find_key(kind)
        if plain in ("run", "predict"):
            return Verb(name, key, is_named=True) if key else None
        takes_more = not issubclass(kind, AgentExecutor)
        return Verb(name, takes_more=takes_more) if method in ("", "acall") else None
    if issubclass(kind, BaseChatModel):
        if plain == "predict":
            return Verb(name, is_text=True)
        return Verb(name) if plain in ("", "predict_messages") else None
    if issubclass(kind, BaseLLM):
        return Verb(name) if plain in ("", "predict") else None
    return Verb(name) if issubclass(kind, BaseRetriever) and plain == "get_relevant_documents" else None


def _find_key(kind: type[Chain] | type[AgentExecutor]) -> str | None:
    """Return the name of the only output of a chain, where its class says it."""
    if issubclass(kind, AgentExecutor):
        return "output"
    parameter = inspect.signature(kind).parameters.get("output_key")
    if parameter is not None and isinstance(parameter.default, str):
        return parameter.default
    field = kind.model_fields.get("output_key")
    return field.default if field is not None and isinstance(field.default, str) else None


def write_verb(node: cst.Call, verb: Verb) -> cst.Call | cst.Subscript | cst.Attribute | None:
    """Return a call of a method as one of the verb, or None if its arguments are not understood.

    Args:
        node: the call.
        verb: what it is now.
    """
    places = [arg for arg in node.args if arg.keyword is None and not arg.star]
    named = [arg for arg in node.args if arg.keyword is not None or arg.star == "**"]
    settings = [arg for arg in named if arg.keyword and arg.keyword.value in _SETTINGS]
    values = [arg for arg in named if arg not in settings]
    if verb.is_named and values and not places:
        first = [cst.Arg(cst.Dict([_write_element(arg) for arg in values]))]
        values = []
    elif len(places) == 1 and not (verb.is_named and values):
        first = [places[0].with_changes(comma=cst.MaybeSentinel.DEFAULT)]
    else:
        return None
    if any(arg.star == "*" for arg in node.args) or (values and not verb.takes_more):
        return None
    config = [cst.Arg(cst.Dict([_write_element(arg) for arg in settings]))] if settings else []
    func = node.func
    owner = func.value if isinstance(func, cst.Attribute) and func.attr.value in _METHODS else func
    given = [*first, *config, *(arg.with_changes(comma=cst.MaybeSentinel.DEFAULT) for arg in values)]
    call = cst.Call(cst.Attribute(owner, cst.Name(verb.name)), given, lpar=node.lpar, rpar=node.rpar)
    if verb.key is not None:
        key = cst.SubscriptElement(cst.Index(cst.SimpleString(f'"{verb.key}"')))
        return cst.Subscript(call, [key])
    return cst.Attribute(call, cst.Name("text")) if verb.is_text else call


def write_awaited(node: cst.Await) -> cst.BaseExpression:
    """Return an awaited call whose value is looked into as one whose value is looked into after that."""
    inner = node.expression
    if not isinstance(inner, cst.Subscript | cst.Attribute):
        return node
    awaited = node.with_changes(expression=inner.value, lpar=[cst.LeftParen()], rpar=[cst.RightParen()])
    return inner.with_changes(value=awaited, lpar=node.lpar, rpar=node.rpar)


def _write_element(arg: cst.Arg) -> cst.BaseDictElement:
    if arg.keyword is None:
        return cst.StarredDictElement(arg.value)
    return cst.DictElement(cst.SimpleString(f'"{arg.keyword.value}"'), arg.value)
