"""Sections of docstrings that have a heading of their own, such as "Raises, from every verb:", become lists as all do."""

import re

import griffe

HEADING = re.compile(r"^(?:(Raises), .+:(?=\n +\w+: )|Keys:)$", re.MULTILINE)


class OwnHeadings(griffe.Extension):
    """Has the parser take such a section for one that it knows, under the heading that stands there."""

    def on_object(self, *, obj: griffe.Object, **kwargs: object) -> None:
        """Rewrite the headings of a docstring."""
        if obj.docstring is not None:
            obj.docstring.value = HEADING.sub(name_section, obj.docstring.value)


def name_section(heading: re.Match[str]) -> str:
    """Return a heading as the parser wants it: what kind of section it is, then what stands there."""
    return f"{heading[1] or 'Attributes'}: {heading[0]}"
