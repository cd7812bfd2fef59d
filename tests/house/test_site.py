"""The documentation site has every page and every public name. ``scripts/site`` itself checks what it has built."""

import importlib
from xml.etree import ElementTree

import pytest

from tests.measures.source import PUBLIC_MODULES
from website.navigation import list_entries
from website.pages import DOCS, OTHER_PAGES, ROOT, list_pages, rewrite
from website.recording import COLUMNS, draw


def test_each_page_is_in_the_navigation_once() -> None:
    """A page that nobody is led to is not read: mkdocs.yml names all but the decisions, which are listed by themselves."""
    pages = {name for name in list_pages().values() if not name.startswith("decisions/")}
    entries = [entry for entry in list_entries() if entry not in ("decisions/index.md", "reference/index.md")]
    assert sorted(entries) == sorted(pages)


def test_links_of_pages_lead_to_the_site() -> None:
    """A link between files of the repository becomes one between pages; what is no page is shown in the repository."""
    readme = rewrite(ROOT / "README.md", list_pages())
    assert "](docs/" not in readme and "](providers.md)" in readme
    decision = rewrite(DOCS / "decisions/014-one-loop-of-agents.md", list_pages())
    assert "](../benchmarks.md#agents-compared-with-other-libraries)" in decision
    retrieval = rewrite(DOCS / "retrieval.md", list_pages())
    assert "/blob/main/tests/retrieval/test_hybrid_search.py)" in retrieval


def test_what_is_for_the_tests_is_not_shown() -> None:
    """A reader sees the name of a file, and neither words for the tests nor what the model answers there."""
    tutorial = rewrite(DOCS / "tutorials/chat-service.md", list_pages())
    assert '```python title="service.py"\n' in tutorial
    assert not {"<!--", "continued", "notest"} & set(tutorial.split())


def test_pages_from_elsewhere_exist() -> None:
    """A page that has moved is not left out without a word."""
    assert [name for name in OTHER_PAGES if not (ROOT / name).exists()] == []


def test_a_recording_is_drawn_as_the_terminal_showed_it() -> None:
    """In lines, wrapped as there; a piece is hidden until it came."""
    came = [(0.0, "$ hocket\n"), (0.5, "> "), (1.0, "<&>\r\n"), (1.5, "x" * (COLUMNS + 3))]
    picture = ElementTree.fromstring(draw(came))
    texts = picture.findall(".//{*}text")
    assert ["".join(text.itertext()) for text in texts] == ["$ hocket", "> <&>", "x" * COLUMNS, "xxx"]
    assert [one.get("end") for text in texts for one in text.findall(".//{*}set")] == [
        "0.50s",
        "1.00s",
        "1.50s",
        "1.50s",
    ]


def test_a_section_with_a_heading_of_its_own_becomes_a_list() -> None:
    """One that has no items stays text."""
    pytest.importorskip("griffe", reason="griffelib is not installed: `scripts/setup docs` does that")
    from website.docstrings import HEADING, name_section

    items = "Raises, from every verb:\n    LLMError: it failed.\n\nKeys:\n    tags, metadata: of runs."
    listed = items.replace("Raises,", "Raises: Raises,").replace("Keys:", "Attributes: Keys:")
    assert HEADING.sub(name_section, items) == listed
    prose = "Raises, from every verb:\n    what the model raises."
    assert HEADING.sub(name_section, prose) == prose


@pytest.mark.nightly
def test_the_reference_has_every_public_name() -> None:
    """What a module's `__all__` offers when it is imported has a place in the reference."""
    pytest.importorskip("griffe", reason="griffelib is not installed: `scripts/setup docs` does that")
    from website.reference import DOOR, list_names, list_reference

    described = {name.path for names in list_reference().values() for name in names}
    names = list_names()
    missing = [
        f"{module}.{name}"
        for module in PUBLIC_MODULES
        for name in getattr(importlib.import_module(module), "__all__", [])
        if f"{module}.{name}" not in names or names[f"{module}.{name}"].path not in described
    ]
    assert missing == []
    assert names[f"{DOOR}.BaseChatModel"].path == "hocket.language_models.BaseChatModel"
    assert names[f"{DOOR}.load"].path == "hocket.load.load"
