"""An image as a prompt: its address, with variables in it."""

from typing import ClassVar

from pydantic import Field

from hocket.errors import InvalidInput
from hocket.messages.content import Fields
from hocket.prompt_values import ImagePromptValue, ImageURL, PromptValue
from hocket.prompts.base import BasePromptTemplate
from hocket.prompts.formats import PromptTemplateFormat, compile_template

__all__ = ["ImagePromptTemplate"]


class ImagePromptTemplate(BasePromptTemplate[ImageURL]):
    """An image by its address: a URL, or a ``data:`` URL. In a conversation, write a block ``image_url`` instead.

    Args:
        template: with ``url``, a template, and ``detail``.
        template_format: of ``url`` and ``detail``.

    Raises:
        InvalidInput: it has a ``path``: values may be a stranger's, and would read any file.
    """

    template: Fields = Field(default_factory=dict)
    template_format: PromptTemplateFormat = "f-string"
    _prompt_type: ClassVar[str] = "image-prompt"

    def _check_template(self) -> None:
        if "path" in self.template or "path" in self.input_variables:
            raise InvalidInput("an image's path is refused: give its 'url', or its data as a data: URL")
        self._find_variables()

    def _find_variables(self) -> None:
        texts = [text for text in self.template.values() if isinstance(text, str)]
        named = {name for text in texts for name in compile_template(text, self.template_format).variables}
        self._set_variables(named | ({"url"} if "url" in self.input_variables else set()))

    def format(self, /, **kwargs: object) -> ImageURL:
        """Return the image's address, and its ``detail`` if it has one.

        Raises:
            InvalidInput: a variable has no value, there is no ``url``, or it is no text.
        """
        values = self._merge_values(kwargs)
        filled = {
            key: compile_template(text, self.template_format).render(values) if isinstance(text, str) else text
            for key, text in self.template.items()
        }
        url, detail = values.get("url") or filled.get("url"), values.get("detail") or filled.get("detail")
        if not isinstance(url, str) or not url:
            raise InvalidInput(f"an image has a url, a text, not {url!r}")
        made: ImageURL = {"url": url}
        if detail:
            made["detail"] = detail  # type: ignore[typeddict-item]  # the provider checks it
        return made

    def format_prompt(self, /, **kwargs: object) -> PromptValue:
        """Return the image for a model."""
        return ImagePromptValue(image_url=self.format(**kwargs))

    def pretty_repr(self, html: bool = False) -> str:
        """Return the template for reading."""
        return str(self.template)
