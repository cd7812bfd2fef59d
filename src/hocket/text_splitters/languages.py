"""Where the code of each language is best cut: LangChain's separators, coarse ones first, as regular expressions."""

from collections.abc import Iterator
from enum import Enum

from hocket.errors import InvalidInput

__all__ = ["Language", "separators_of"]


class Language(str, Enum):  # noqa: UP042  # LangChain's: str() of a member is its name
    """Languages, of programs and of markup, that a splitter knows. LangChain's names."""

    CPP = "cpp"
    GO = "go"
    JAVA = "java"
    KOTLIN = "kotlin"
    JS = "js"
    TS = "ts"
    PHP = "php"
    PROTO = "proto"
    PYTHON = "python"
    R = "r"
    RST = "rst"
    RUBY = "ruby"
    RUST = "rust"
    SCALA = "scala"
    SWIFT = "swift"
    MARKDOWN = "markdown"
    LATEX = "latex"
    HTML = "html"
    SOL = "sol"
    CSHARP = "csharp"
    COBOL = "cobol"
    C = "c"
    LUA = "lua"
    PERL = "perl"
    HASKELL = "haskell"
    ELIXIR = "elixir"
    POWERSHELL = "powershell"
    VISUALBASIC6 = "visualbasic6"


_C = "class void int float double if for while switch case"

_WORDS = {
    Language.C: _C,
    Language.CPP: _C,
    Language.GO: "func var const type if for switch case",
    Language.JAVA: "class public protected private static if for while switch case",
    Language.KOTLIN: "class public protected private internal companion fun val var if for while when else",
    Language.JS: "function const let var class if for while switch case default",
    Language.TS: "enum interface namespace type class function const let var if for while switch case default",
    Language.PHP: "function class if foreach while do switch case",
    Language.PROTO: "message service enum option import syntax",
    Language.RUBY: "def class if unless while for do begin rescue",
    Language.RUST: "fn const let if while for loop match",
    Language.SCALA: "class object def val var if for while match case",
    Language.SWIFT: "func class struct enum if for while do switch case",
    Language.SOL: "pragma using contract interface library constructor type function event modifier error struct enum if for"
    " while do_while assembly",
    Language.CSHARP: "interface enum delegate event class abstract public protected private static return if continue for"
    " foreach while switch break case else try throw finally catch",
    Language.LUA: "local function if for while repeat",
    Language.ELIXIR: "def defp defmodule defprotocol defmacro defmacrop if unless case cond with for do",
    Language.POWERSHELL: "function param if foreach for while switch class try catch finally",
}
"""Words that begin a line, followed by a space; ``_`` is a space inside."""

_HTML = "body div p br li h1 h2 h3 h4 h5 h6 span table tr td th ul ol header footer nav head style script meta title"
_COBOL_VERBS = "OPEN CLOSE READ WRITE IF ELSE MOVE PERFORM UNTIL VARYING ACCEPT DISPLAY"
_COBOL = (
    *(f"{name} DIVISION." for name in ("IDENTIFICATION", "ENVIRONMENT", "DATA", "PROCEDURE")),
    *(f"{name} SECTION." for name in ("WORKING-STORAGE", "LINKAGE", "FILE", "INPUT-OUTPUT")),
    *(f"{verb} " for verb in _COBOL_VERBS.split()),
    "STOP RUN.",
)
_LATEX_HEADINGS = ("chapter", "section", "subsection", "subsubsection")
_LATEX_BLOCKS = "enumerate itemize description list quote quotation verse verbatim align"
_HASKELL = (
    "main_:: main_= let in do where :: = data newtype type module import qualified import_qualified"
    " class instance case |"
)
_BASIC = r"\n(?!End\s)(?:Public|Private|Friend|Global|Static)\s+?"
_BASIC_WORDS = ("ElseIf", "Else", r"Select\s+Case", "Case", "For", "Do", "While", "With")
_LINES = ("\n", " ", "")
_PARAGRAPHS = ("\n\n", *_LINES)


def _begin_lines(words: str) -> Iterator[str]:
    return (f"\n{word} ".replace("_", " ") for word in words.split())


_SEPARATORS: dict[Language, tuple[str, ...]] = {
    **{one: (*_begin_lines(words), *_PARAGRAPHS) for one, words in _WORDS.items()},
    Language.PYTHON: ("\nclass ", "\ndef ", "\n\tdef ", *_PARAGRAPHS),
    Language.R: (
        "\nfunction ",
        *(rf"{chr(10)}{name}\(" for name in ("setClass", "setMethod", "setGeneric")),
        *_begin_lines("if else for while repeat"),
        *(rf"{chr(10)}{name}\(" for name in ("library", "require")),
        *_PARAGRAPHS,
    ),
    Language.HASKELL: (*_begin_lines(_HASKELL), "\n= {", "\n, ", *_PARAGRAPHS),
    Language.RST: ("\n=+\n", "\n-+\n", "\n\\*+\n", "\n\n.. *\n\n", *_PARAGRAPHS),
    Language.MARKDOWN: ("\n#{1,6} ", "```\n", "\n\\*\\*\\*+\n", "\n---+\n", "\n___+\n", *_PARAGRAPHS),
    Language.LATEX: (
        *(f"\n\\\\{heading}{{" for heading in _LATEX_HEADINGS),
        *(f"\n\\\\begin{{{block}}}" for block in _LATEX_BLOCKS.split()),
        *("$$", "$", " ", ""),
    ),
    Language.HTML: (*(f"<{tag}" for tag in _HTML.split()), ""),
    Language.COBOL: (*(f"\n{line}" for line in _COBOL), *_LINES),
    Language.VISUALBASIC6: (
        *(rf"{_BASIC}{kind}\s+" for kind in ("Sub", "Function", r"Property\s+(?:Get|Let|Set)", "Type", "Enum")),
        r"\n(?!End\s)If\s+",
        *(rf"\n{words}\s+" for words in _BASIC_WORDS),
        *(r"\n\n", r"\n", " ", ""),
    ),
}


def separators_of(language: Language | str) -> list[str]:
    """Return the separators of a language, which may also be named by its value, such as ``"python"``.

    Raises:
        InvalidInput: it is unknown, or has none, as Perl.
    """
    try:
        return list(_SEPARATORS[Language(language)])
    except (ValueError, KeyError):
        known = ", ".join(one.value for one in _SEPARATORS)
        raise InvalidInput(f"there are no separators for the language {language!r}; there are {known}") from None
