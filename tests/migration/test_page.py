"""docs/moving-from-langchain.md says what the table says."""

from tests.migration.page import PAGE, update_page


def test_the_page_is_made_from_the_table() -> None:
    """`python -m tests.migration.page` writes it."""
    text = PAGE.read_text()
    assert update_page(text) == text, "run `python -m tests.migration.page`"
