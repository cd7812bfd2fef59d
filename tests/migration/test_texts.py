"""What a program imports by a text, or with a star, and a program that has both packages: rewritten if sure, else told."""

import pytest

pytest.importorskip("libcst", reason="the extra `migrate` is not installed")

from hocket.migration.rewrite import rewrite_program

CORE = "langchain_core.messages"


def rewrite(code: str) -> tuple[str, list[tuple[int, str, str]]]:
    """Return a program, rewritten, and line, kind and subject of what is said of it."""
    done = rewrite_program(code.encode())
    return done.code.decode(), [(one.line, one.kind, one.what) for one in done.findings]


@pytest.mark.parametrize(
    "call",
    [
        "import importlib\nimportlib.import_module('{}')",
        "from importlib import import_module as load\nload('{}')",
        "from importlib import import_module\nimport_module(name='{}')",
        "import importlib.util\nimportlib.util.find_spec('{}')",
        "__import__('{}', fromlist=['AIMessage'])",
        "from unittest import mock\nmock.patch('{}')",
        "from unittest.mock import patch as replaced\nreplaced('{}')",
        "def test(mocker, monkeypatch):\n    monkeypatch.setattr('{}.AIMessage', 1)",
        "import pytest\npytest.importorskip('{}')",
    ],
)
def test_a_whole_name_in_a_text(call: str) -> None:
    """Is rewritten where it is imported or patched, under whatever name that function has, and told."""
    after, said = rewrite(call.format(CORE) + "\n")
    assert after == call.format("hocket.messages") + "\n"
    assert [(line, kind, what.removesuffix(".AIMessage")) for line, kind, what in said] == [
        (after.count("\n"), "check", CORE)
    ]


@pytest.mark.parametrize(
    ("call", "kind", "what"),
    [
        ("import_module('langchain_nobody.things')", "left", "langchain_nobody.things"),
        ("import_module('langchain')", "left", "langchain"),
        ("__import__('langchain_core')", "left", "langchain_core"),
        ("import_module('.messages', package='langchain_core')", "left", "langchain_core"),
        ("import_module('.' + name, 'langchain_core')", "left", "langchain_core"),
        ("import_module('langchain_core.' + name)", "left", "langchain_core. …"),
        ("import_module('langchain_%s' % name)", "left", "langchain_%s …"),
        ("import_module('langchain_{}'.format(name))", "left", "langchain_{} …"),
        ("import_module('.'.join(['langchain_core', name]))", "left", "langchain_core"),
        ("import_module(f'langchain_{name}')", "left", "langchain_ …"),
        ("import_module(f'langchain_core.{name}')", "left", "langchain_core. …"),
        ("import_module(f'{package}.messages')\npackage = 'langchain_core'", "check", "langchain_core"),
        ("exec('import os; import langchain_core.messages')", "left", "code in exec"),
        ("eval(\"__import__('langchain_core')\")", "left", "code in eval"),
        ("subprocess.run(['python', '-c', 'from langchain_core import messages'])", "check", "code in a text"),
        ("pkgutil.resolve_name('langchain_core.messages:AIMessage')", "check", f"{CORE}:AIMessage"),
        ("sys.modules['langchain_core.messages']", "check", CORE),
        ("log('langchain_core.messages')", "check", CORE),
    ],
)  # fmt: skip
def test_a_text_that_stays(call: str, kind: str, what: str) -> None:
    """A name that hocket does not have, or is put together; code in a text; a text that may mean anything: told."""
    code = f"from importlib import import_module\n{call}\n"
    assert rewrite(code) == (code, [(3 if "\n" in call else 2, kind, what)])


@pytest.mark.parametrize(
    "code",
    [
        '"""It was written for langchain_core.messages:\n\n    from langchain_core import messages\n"""\n',
        "def f():\n    'import langchain'\n",
        "x = 'langchain is a word', 'langchain'\n",
        "patch('json.loads')\nexec('import os')\n",
    ],
)
def test_a_text_of_which_nothing_is_said(code: str) -> None:
    """A docstring, and a word."""
    assert rewrite(code) == (code, [])


def test_code_in_a_text_is_told_by_its_own_line() -> None:
    """As far as the text says where."""
    _, [(line, _, _)] = rewrite("exec('''\nimport os\nimport langchain_core.messages\n''')\n")
    assert line == 3


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("from langchain_core.messages import *\nHumanMessage('a', x=1)\n",
         "from hocket.messages import HumanMessage\nHumanMessage('a', x=1)\n", [(1, "check")]),
        ("from langchain.schema import *\nHumanMessage(Document)\n",
         "from hocket.messages import HumanMessage\nfrom hocket.documents import Document\nHumanMessage(Document)\n",
         [(1, "check")]),
        ("from langchain_core.messages import *\nHumanMessage(Unknown)\n",
         "from langchain_core.messages import *\nfrom hocket.messages import HumanMessage\nHumanMessage(Unknown)\n",
         [(1, "left")]),
        ("from langchain_core.messages import *\nfrom mine import *\nHumanMessage(Unknown)\n",
         "from hocket.messages import HumanMessage\nfrom mine import *\nHumanMessage(Unknown)\n", [(1, "check")]),
        ("from langchain_core.messages import *\nfrom mine import *\nUnknown\n",
         "from langchain_core.messages import *\nfrom mine import *\nUnknown\n", [(1, "left")]),
        ("from langchain_core.messages import *\nprint(__file__, __name__)\n",
         "from langchain_core.messages import *\nprint(__file__, __name__)\n", [(1, "left")]),
        ("from langchain_community.vectorstores import *\nQdrant()\n",
         "from langchain_community.vectorstores import *\nQdrant()\n", [(1, "left")]),
    ],
    ids=["known", "two rooms", "unknown", "of another", "unknown, another", "none", "stays"],
)  # fmt: skip
def test_a_star_import(before: str, after: str, said: list[tuple[int, str]]) -> None:
    """Becomes the names that are used of it; what nothing else can have brought keeps it, and is told by name."""
    new, found = rewrite(before)
    assert (new, [(line, kind) for line, kind, _ in found]) == (after, said)
    texts = [one.text for one in rewrite_program(before.encode()).findings]
    assert all("Unknown" in text for text in texts) or "Unknown" not in before
    again = rewrite(after)[1]
    assert [kind for _, kind, _ in again] == [kind for _, kind in said if "*" in after and "langchain" in after]


def test_a_program_that_has_both() -> None:
    """What was told apart is one now: told at hocket's import, and not again when the program has moved."""
    code = "from langchain_core.messages import AIMessage as Theirs\nfrom hocket.messages import AIMessage\n"
    after, said = rewrite(code)
    assert after == code.replace("langchain_core", "hocket")
    assert said == [(2, "check", "hocket")]
    assert rewrite(after) == (after, [])


def test_a_program_that_hands_objects_over() -> None:
    """It works with LangChain's own code, which stays; that is a decision, and not left to do."""
    code = (
        "from langgraph.graph import StateGraph\nfrom langchain_core.messages import AIMessage\n"
        "from hocket.interop.langchain import from_langchain, to_langchain\n"
    )
    assert rewrite(code) == (code, [(3, "check", "hocket.interop.langchain.to_langchain")])
    assert rewrite(code.replace(", to_langchain", ""))[1] == [(1, "left", "langgraph.graph")]
