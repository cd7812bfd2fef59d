"""How the command ends: a code that a script can act on, and one line on standard error that says why."""

import re

from hocket.cli.output import note, print_traceback, squeeze
from hocket.errors import (
    AuthenticationError,
    BudgetExceeded,
    DocumentError,
    EngineUnavailable,
    HistoryUnavailable,
    HocketError,
    InvalidInput,
    InvalidReply,
    LLMError,
    ProviderUnavailable,
    QuotaExceeded,
    RateLimitError,
    RequestTimeout,
    ResourceNotFound,
    StreamTruncated,
    UnknownModel,
    UnknownRun,
    Unpriceable,
    Unsupported,
)

__all__ = [
    "BUSY",
    "COMMAND_CODES",
    "EXIT_CODES",
    "FAILED",
    "INTERRUPTED",
    "LIMITED",
    "MISUSED",
    "OTHER_CODES",
    "OTHER_FILE",
    "PAUSED",
    "PIPE_CLOSED",
    "TERMINATED",
    "WORSE",
    "exit_code",
    "explain",
    "report",
    "use_command_words",
]

FAILED = 1
"""Exit code: failed for a reason that has no code of its own."""

MISUSED = 2
"""Exit code: an option or argument is wrong; argparse's own."""

ACCOUNT = 3
"""Exit code: the key is missing or refused, or the account is empty."""

MODEL = 4
"""Exit code: no such provider, or no such model on the server."""

UNREACHABLE = 5
"""Exit code: the server cannot be reached, fails, or takes too long."""

LIMITED = 6
"""Exit code: too many requests or tokens for now, or the budget is used up."""

TRUNCATED = 7
"""Exit code: the answer broke off before its end."""

PAUSED = 8
"""Exit code: a call of a tool waits for approval."""

WORSE = 9
"""Exit code: an evaluation is certainly worse than before, or a rate is certainly too low."""

BUSY = 10
"""Exit code: another run writes to the file."""

OTHER_FILE = 11
"""Exit code: the file is of another model, or of other rows."""

INTERRUPTED = 128 + 2
"""Exit code after Ctrl-C (SIGINT), the shell's own."""

PIPE_CLOSED = 128 + 13
"""Exit code: the reader of the output has gone (SIGPIPE, a number that Windows has no name for)."""

TERMINATED = 128 + 15
"""Exit code after SIGTERM, by which service managers and containers end a program."""

EXIT_CODES = {
    0: "answered",
    FAILED: "failed for another reason",
    MISUSED: "wrong usage: an option or argument is wrong",
    ACCOUNT: "the key is missing or refused, or the account is empty",
    MODEL: "no such provider, or no such model on the server",
    UNREACHABLE: "the server cannot be reached, fails, or takes too long: try again later",
    LIMITED: "too many requests or tokens for now, or the budget is used up: try again later",
    TRUNCATED: "the answer broke off before its end",
    PAUSED: "a call of a tool waits for approval; `hocket agent --resume --decide ID=approve` goes on",
    WORSE: "an evaluation is certainly worse than before, or a rate is certainly too low",
    BUSY: "another run writes to the file",
    OTHER_FILE: "the file is of another model, or of other rows",
    INTERRUPTED: "Ctrl-C",
    PIPE_CLOSED: "the reader of the output has gone",
    TERMINATED: "SIGTERM",
}
"""What each code means, in a line."""

OTHER_CODES = {0: "done", **{code: EXIT_CODES[code] for code in EXIT_CODES if code in (FAILED, MISUSED) or code > 128}}
"""Those of a command that asks no model."""

_AGENT_CODES = {code: meaning for code, meaning in EXIT_CODES.items() if code not in (WORSE, BUSY, OTHER_FILE)}

_ASKING_CODES = {code: meaning for code, meaning in _AGENT_CODES.items() if code != PAUSED}

_LISTING_CODES = {code: meaning for code, meaning in _ASKING_CODES.items() if code != TRUNCATED} | {0: "done"}

COMMAND_CODES = {
    "agent": _AGENT_CODES,
    "ask": _ASKING_CODES,
    "batch": {
        **{code: meaning for code, meaning in EXIT_CODES.items() if code != WORSE},
        0: "all rows are answered",
        FAILED: "a row failed, or the run for another reason",
        PAUSED: "batches are under way; the same command collects them, and with --cancel ends them",
    },
    "cassette": {**OTHER_CODES, FAILED: "`check` found a fault, or failed for another reason"},
    "chat": _ASKING_CODES,
    "embed": _LISTING_CODES,
    "eval": {
        **EXIT_CODES,
        0: "nothing is certainly worse, nor any rate certainly too low; with --strict: certainly not",
        PAUSED: "batches are under way; the same command collects them",
        WORSE: "certainly worse, or a rate is, or nothing has a score; with --strict also if uncertain or cases are missing",
    },
    "keys": dict(sorted({**OTHER_CODES, MODEL: EXIT_CODES[MODEL]}.items())),
    "migrate": {**OTHER_CODES, FAILED: "something is left to do, or failed for another reason"},
    "models": _LISTING_CODES,
    "runs": dict(sorted({**OTHER_CODES, UNREACHABLE: EXIT_CODES[UNREACHABLE]}.items())),
    "serve": dict(sorted({**OTHER_CODES, ACCOUNT: EXIT_CODES[ACCOUNT], MODEL: EXIT_CODES[MODEL]}.items())),
    "similar": _LISTING_CODES,
}
"""What the codes of a command mean, where it has others than `OTHER_CODES`."""

_FLAGS = ("model", "base_url", "max_tokens", "temperature", "seed")  # fields that have an option of their own

# Errors name the way out as Python writes it. What the command calls otherwise, or has no word for, it says in its own.
_IN_PYTHON = (
    (
        r"(\S+) is not known to belong to (.*): give api_key=\.\.\.",
        r"\1 is not known to belong to \2: `hocket keys set \1`",
    ),
    (r"no key was sent to (\S+): give api_key=\.\.\., for", r"no key was sent: `hocket keys set \1` keeps one, for"),
    (r"check the api_key, and that it belongs to this base_url", "check the key, and that it belongs to this server"),
    (r"resume with an agent that has it, or", "name it with --tool or --mcp, or"),
    (r",? or give api_key=\.\.\.", ""),  # no key goes on the command line
    (r"; use ainvoke or agenerate, or (\w+)=1", r"; give -o \1=1"),
    (r"\bgive base_url=\.\.\.", "give --base-url URL"),
    (r"\bgive model=\.\.\.", "give --model NAME"),
    (r", or raise ChatLocal\(n_ctx=\.\.\.\) if the weights allow for more", ""),
    (r"\bgive ChatLocal\(model=\.\.\.\) or", "give --model local:PATH or"),
    (r"\bopen_history\(address, session_id=\.\.\.\)", "--session NAME"),
    (r"\binterrupt_on names\b", "--interrupt-on names"),
    (r"\bneeds (message|args)$", r"needs --\1"),
    (r'\bon_mismatch="redo"', "--redo"),
    (r'\bretry_via="(\w+)"', r"--retry-via \1"),
    (r'\bvia="(\w+)"', r"--via \1"),
    (r"\bleave via out\b", "leave --via out"),
    (r"^wait is\b", "--wait is"),
    (r"^retry_via is\b", "--retry-via is"),
    (r"\bcases, repeats and baseline of\b", "cases, --repeats and --baseline of"),
    (r"^min_difference is\b", "--min-difference is"),
    (r"\bname the encoding that it is in by encoding= \('cp1252', say\)", "name its encoding, as in --encoding cp1252"),
    (r"\bencoding='(\S*)'", r"--encoding \1"),
    (r",? or leave it out by exclude='\S*'", ""),
    (r"; raise max_expanded_bytes= if you trust it", ""),
    (r"\bgive its own by password=", "save it without one"),
    (r"\braise max_(bytes|pages)=, or ", ""),
    (r"\. Do its answers still hold\? Then version='.*?' goes on", ""),
    (r"\bmax_consecutive_failures=", "--max-consecutive-failures "),
    (r"\bset_prices\(\{.*?\}\), have", "--price 1.25,10, or have"),
    (r", say it before, set_prices\(\{.*?\}\)", ""),
    (r",? or let such (models|calls) pass, Budget\(.*?\)", ""),
    (r"\bmetrics=True\b", "--metrics"),
    (r'\bgive metrics="\.\.\."', "set HOCKET_METRICS_KEY"),
    (r"^metrics(\[0\])?(?= is| will)", "HOCKET_METRICS_KEY"),
    (r"^usd is\b", "--budget is"),
    (r"^out is\b", "--out is"),
    (r"\bmax_tokens=\.\.\.", "--max-tokens N"),
    (r"\bmax_tokens=", "--max-tokens "),
    (r"\b(temperature|seed)=", r"--\1 "),
    (r"\btakes no (temperature|seed)\b", r"takes no --\1"),
    (r", or have it left out with unsupported='drop'", ", or have it left out with -o unsupported=drop"),
    (r"\bbase_url=", "--base-url "),
    (r"\ballow more with max_tokens\b", "allow more with --max-tokens N"),
    (r"; what came is in `partial`|, see `partial`", ""),
    (r"\(the limit is Timeout\((\w+)=\.\.\.\)\)", r"""(the limit is -o 'timeout={"\1": SECONDS}')"""),
    (r"slow down: a rate_limiter keeps a model under its limit", "slow down, or try again later"),
    (r"\bthe model did not call answer: it said\b", "the model gave no object, but said"),
    (r", or give json_lines=True if each line is a record", ""),
    (r"; open_documents\(\) reads directories", ""),
    (r"; WebBaseLoader\(.*?\) asks there", "; save the page, as with `curl -o page.html ADDRESS`, and name the file"),
)


def exit_code(error: BaseException) -> int:
    """Return the exit code of an error, by `EXIT_CODES`."""
    from pydantic import ValidationError

    from hocket.batch.errors import BatchBusy, ResumeMismatch, TooManyFailures

    match error:
        case BatchBusy():
            return BUSY
        case ResumeMismatch():
            return OTHER_FILE
        case TooManyFailures(__cause__=Exception() as last):
            return exit_code(last)
        case AuthenticationError() | QuotaExceeded():
            return ACCOUNT
        case UnknownModel() | ResourceNotFound():
            return MODEL
        case (
            InvalidInput()
            | DocumentError()
            | ValidationError()
            | Unsupported(status=None)
            | Unpriceable()
            | UnknownRun()
        ):
            return MISUSED  # refused before anything was sent: whatever goes into a model comes from the command line
        case StreamTruncated():
            return TRUNCATED
        case InvalidReply(partial=partial) if getattr(partial, "text", ""):  # junk in the middle of an answer
            return TRUNCATED
        case ProviderUnavailable() | RequestTimeout() | HistoryUnavailable() | EngineUnavailable() | InvalidReply():
            return UNREACHABLE
        case RateLimitError() | BudgetExceeded():
            return LIMITED
        case _:
            return FAILED


def report(error: Exception, *, debug: bool) -> None:
    """Say what went wrong, in one line; with ``debug`` as a traceback."""
    if debug:
        print_traceback(error)
    else:
        note(explain(error))


def explain(error: Exception) -> str:
    """Return an error as one line, in the command's words; one that is not hocket's own is named by its type."""
    from pydantic import ValidationError

    text = _explain_refusal(error) if isinstance(error, ValidationError) else str(error)
    is_clear = text and isinstance(error, HocketError | ValidationError)
    provider = error.provider if isinstance(error, LLMError) else None
    return use_command_words(text if is_clear else f"{type(error).__name__}: {text}", provider)


def use_command_words(text: str, provider: str | None = None) -> str:
    """Return the text of an error as one line that names what the command has: its options, not Python's arguments.

    Args:
        text: of the error.
        provider: whose key could be kept, if that is what the error is about.
    """
    if provider:
        text = re.sub(
            r"(\bneeds a key: set [^,]+),? or give api_key=\.\.\.", rf"\1, or `hocket keys set {provider}`", text
        )
    for python, words in _IN_PYTHON:
        text = re.sub(python, words, text)
    return squeeze(text)


def _explain_refusal(error: Exception) -> str:
    """Return what a model's class says of its options, of the first that it refuses."""
    from pydantic import ValidationError

    assert isinstance(error, ValidationError)
    first = error.errors(include_url=False)[0]
    name = ".".join(map(str, first["loc"]))
    if first["type"] == "extra_forbidden":
        near = re.search(r"; did you mean '(\w+)'\?$", first["msg"])
        return f"the model takes no {_option(name)}" + (f"; did you mean {_option(near[1])}?" if near else "")
    if first["type"] == "missing":
        return f"the model needs {_option(name)}"
    if first["type"] == "value_error":
        return str(first.get("ctx", {}).get("error", first["msg"]))  # names the value itself
    return f"{_option(name)} {first['input']} will not do: {first['msg']}"


def _option(field: str) -> str:
    return f"--{field.replace('_', '-')}" if field in _FLAGS else f"-o {field}"
