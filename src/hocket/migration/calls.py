"""The keyword arguments of one call, under hocket's names."""

from collections.abc import Sequence

import libcst as cst

from hocket.migration.arguments import (
    DEFAULT_MODELS,
    describe_missing,
    find_dropped,
    find_mismatch,
    find_target,
    hint_at_argument,
    list_arguments,
    rename_argument,
    rename_field,
)
from hocket.migration.dotted import read_dotted
from hocket.migration.findings import Finding
from hocket.migration.limits import is_timeout, write_silence
from hocket.migration.table import Place
from hocket.profiles import find_profile

__all__ = ["CONSTRUCTORS", "rename_field_arguments", "rewrite_arguments", "write_retried_types"]

CONSTRUCTORS: frozenset[str] = frozenset({"AgentExecutor.from_agent_and_tools"})
"""Methods that do here what the class does by itself."""

_RETRY_ARGUMENTS = frozenset({"wait_exponential_jitter", "exponential_jitter_params", "stop_after_attempt"})
_MODELS = frozenset({"model", "model_kwargs", "model_name"})
_AZURE = frozenset({"langchain_openai.AzureOpenAI", "langchain_openai.AzureOpenAIEmbeddings"})
"""Classes that are OpenAI's here, with a dialect."""
_NO_BLANKS = cst.AssignEqual(cst.SimpleWhitespace(""), cst.SimpleWhitespace(""))


def rewrite_arguments(
    args: Sequence[cst.Arg], place: Place, attributes: tuple[str, ...], line: int, source: str = ""
) -> tuple[list[cst.Arg], int, list[Finding]]:
    """Rewrite the arguments of a call.

    Args:
        args: the arguments.
        place: what is called.
        attributes: a method of it, or nothing.
        line: where the call is.
        source: the name of LangChain's that is called.

    Returns:
        The arguments, how many were changed, and what is left to do.
    """
    target = find_target(place, attributes)
    shown = ".".join([place.name, *attributes])
    if target is None:
        text = describe_missing(place.name, attributes[-1]) if attributes else ""
        return list(args), 0, [Finding(line, shown, text)] if text else []
    written: list[cst.Arg] = []
    moved = 0
    findings: list[Finding] = []
    for arg in args:
        name = arg.keyword.value if arg.keyword else None
        reason = find_dropped(place, target, name) if name else None
        if reason:
            moved += 1
            findings.append(Finding(line, f"{shown}({name}=)", f"it was left out: {reason}", "check"))
            continue
        if name and is_timeout(name, target):
            limits, told, kind = write_silence(arg.value)
            moved += limits is not arg.value or name != "timeout"
            written.append(arg.with_changes(keyword=cst.Name("timeout"), value=limits))
            findings += [Finding(line, f"{shown}({name}=)", told, kind)] if told else []
            continue
        changed = None if name is None else _rewrite_argument(arg, name, place, target)
        if changed is not None:
            written += changed
            moved += 1
            continue
        written.append(arg)
        hint = None if name is None else hint_at_argument(target, name)
        if hint:
            findings.append(Finding(line, f"{shown}({name}=)", f"hocket takes no such argument; {hint}"))
    if written and not isinstance(args[-1].comma, cst.Comma):  # the last one may have been left out
        written[-1] = written[-1].with_changes(comma=cst.MaybeSentinel.DEFAULT)
    is_whole = not any(arg.star for arg in written)
    named = [arg.keyword.value for arg in written if arg.keyword]
    if is_whole and source in _AZURE:
        written.append(_write_text("dialect", "azure"))
        moved += 1
    elif is_whole and str(place) in DEFAULT_MODELS and len(named) == len(written) and not _MODELS & {*named}:
        model = DEFAULT_MODELS[str(place)]
        if model is None:
            findings.append(Finding(line, f"{shown}(...)", "hocket has no model of its own choice: write model=..."))
        else:
            written.append(_write_text("model", model))
            moved += 1
            findings.append(Finding(line, f"{shown}(model=)", f"LangChain asks {model} where none is named", "check"))
    if refused := _find_refused(written):
        findings.append(Finding(line, f"{shown}(temperature=)", refused, "check"))
    mismatch = find_mismatch(target, len(written) - len(named), named) if is_whole else None
    if mismatch:
        findings.append(Finding(line, f"{shown}(...)", f"hocket's takes other arguments: {mismatch}"))
    return written, moved, findings


def rename_field_arguments(args: Sequence[cst.Arg], kind: object) -> list[cst.Arg] | None:
    """Return the arguments of ``configurable_fields``, by hocket's names of fields; None where all stay.

    Args:
        args: the arguments.
        kind: the class of what it is called on; None: it is not known, and may have fields of the program's own.
    """
    own = [rename_field(kind, arg.keyword.value) if arg.keyword else None for arg in args]
    if not any(own):
        return None
    return [arg.with_changes(keyword=cst.Name(name)) if name else arg for arg, name in zip(args, own, strict=True)]


def write_retried_types(args: Sequence[cst.Arg]) -> list[cst.Arg] | None:
    """Return the arguments of LangChain's ``with_retry`` with its default for what is tried again; None where it is given.

    hocket's default is what may help: of any other exception a program that relied on LangChain's would get one attempt.
    """
    given = {arg.keyword.value if arg.keyword else "" for arg in args}
    if not given <= _RETRY_ARGUMENTS:
        return None
    everything = cst.Arg(
        cst.parse_expression("(Exception,)"),
        keyword=cst.Name("retry_if_exception_type"),
        equal=_NO_BLANKS,
    )
    return [everything, *args]


def _rewrite_argument(arg: cst.Arg, name: str, place: Place, target: object) -> list[cst.Arg] | None:
    """Return what an argument becomes; None if it stays."""
    known = list_arguments(target)
    if known is None or name in known:
        return None
    if own := rename_argument(place, target, name):
        return [arg.with_changes(keyword=cst.Name(own))]
    if name in ("api_version", "openai_api_version") and "default_query" in known:
        query = cst.Dict([cst.DictElement(cst.SimpleString('"api-version"'), arg.value)])
        return [arg.with_changes(keyword=cst.Name("default_query"), value=query)]
    if name == "max_retries" and "retry" in known:
        return [arg.with_changes(keyword=cst.Name("retry"), value=_count_attempts(arg.value))]
    if name == "model_kwargs" and isinstance(arg.value, cst.Dict):
        return _spread(arg, arg.value, known)
    return None


def _find_refused(args: Sequence[cst.Arg]) -> str | None:
    """Return what to tell of a temperature that is given to a model which takes none; None: it is not so."""
    values = {arg.keyword.value if arg.keyword else "model": arg.value for arg in reversed(args)}
    name = values.get("model")
    model = name.evaluated_value if isinstance(name, cst.SimpleString) else None
    if read_dotted(values.get("temperature", cst.Name("None"))) == ["None"] or not isinstance(model, str):
        return None
    if (find_profile(model.rpartition(":")[2]) or {}).get("temperature") is not False:
        return None
    return f"{model} takes none, so each call raises Unsupported: leave it out, or write unsupported='drop'"


def _write_text(name: str, text: str) -> cst.Arg:
    return cst.Arg(cst.SimpleString(f'"{text}"'), cst.Name(name), _NO_BLANKS)


def _count_attempts(retries: cst.BaseExpression) -> cst.BaseExpression:
    """Return the number of all attempts, of that of retries."""
    if isinstance(retries, cst.Integer):
        return cst.Integer(str(int(retries.value.replace("_", ""), 0) + 1))
    is_simple = isinstance(retries, cst.Name | cst.Attribute | cst.Call | cst.Subscript) or retries.lpar
    inner = retries if is_simple else retries.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])
    return cst.BinaryOperation(inner, cst.Add(), cst.Integer("1"))


def _spread(arg: cst.Arg, given: cst.Dict, known: frozenset[str]) -> list[cst.Arg] | None:
    """Return the entries of ``model_kwargs`` as arguments, or None where they cannot all be read, or are not all known."""
    spread: list[cst.Arg] = []
    for element in given.elements:
        key = element.key if isinstance(element, cst.DictElement) else None
        name = key.evaluated_value if isinstance(key, cst.SimpleString) else None
        if not isinstance(name, str) or name not in known:
            return None
        spread.append(arg.with_changes(keyword=cst.Name(name), value=element.value, comma=cst.MaybeSentinel.DEFAULT))
    if spread:
        spread[-1] = spread[-1].with_changes(comma=arg.comma)
    return spread
