"""A report or a comparison as one HTML file, without scripts and other hosts, in which an answer stays a text."""

from hocket.evaluation.page.document import write_page

__all__ = ["write_page"]
