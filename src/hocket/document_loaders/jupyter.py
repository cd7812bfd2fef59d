"""Jupyter notebooks: a document is what somebody wrote into one, without what came out of it."""

from pydantic import BaseModel, ValidationError

from hocket.document_loaders.text import MarkdownLoader
from hocket.errors import DocumentError

__all__ = ["NotebookLoader"]


class NotebookLoader(MarkdownLoader):
    """Loads a Jupyter notebook as one document in Markdown: its texts, and its code in fences, without outputs.

    The arguments are those of `MarkdownLoader`, and so is ``title``.

    Raises:
        DocumentError: by the verbs: it is no notebook of format 4 (of 2014 and later), or has no text.
    """

    def _decode(self, text: str) -> str:
        try:
            cells = _Notebook.model_validate_json(text).cells
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            place = ".".join(map(str, first["loc"])) or None
            problem = f"it is no notebook of format 4 ({first['msg']}); open it in Jupyter and save it again"
            raise DocumentError(self.file_path, problem, place) from None
        sources = [(cell.cell_type, "".join(cell.source).strip("\n")) for cell in cells]
        parts = [f"```\n{one}\n```" if kind == "code" else one for kind, one in sources if one.strip()]
        if not parts:
            raise DocumentError(self.file_path, "none of its cells has a text; leave it out")
        return "\n\n".join(parts)


class _Cell(BaseModel):
    cell_type: str
    source: str | list[str]


class _Notebook(BaseModel):
    cells: list[_Cell]
