"""Content blocks with variables in them: images, files, and whatever else a provider takes."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, ClassVar, cast

from pydantic import ConfigDict

from hocket._runtime.mode import Mode
from hocket.errors import InvalidInput
from hocket.load.serializable import get_fields
from hocket.prompts.formats import PromptTemplateFormat, compile_template, render
from hocket.prompts.missing import MissingVariable
from hocket.runnables.with_run import PureRunnable

__all__ = ["DictPromptTemplate"]


class DictPromptTemplate(PureRunnable[dict[str, Any], dict[str, Any]]):
    """A dict whose texts are templates, however deep they are in dicts and lists; its keys are not.

    An image's address may be given as a text or under ``url``, and comes out under ``url``. An image's file path is
    refused: values may be a stranger's, and would read any file.

    Args:
        template: the dict.
        template_format: of its texts.
    """

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid")

    template: dict[str, Any]
    template_format: PromptTemplateFormat = "f-string"

    @classmethod
    def is_lc_serializable(cls) -> bool:
        """Templates travel as data."""
        return True

    if not TYPE_CHECKING:

        def __init__(self, **fields: Any) -> None:
            super().__init__(**fields)
            self._check_template()  # not in a validator, where an InvalidInput would be wrapped

    def _check_template(self) -> None:
        image = self.template.get("image_url")
        if isinstance(image, str):
            get_fields(self)["template"] = {**self.template, "image_url": {"url": image}}
        elif isinstance(image, dict) and "path" in image:
            raise InvalidInput("an image's path is refused: give its 'url', or its data as a data: URL")
        for text in _iterate_texts(self.template):
            compile_template(text, self.template_format)

    @property
    def input_variables(self) -> list[str]:
        """The names of the variables, sorted."""
        found = (compile_template(text, self.template_format).variables for text in _iterate_texts(self.template))
        return sorted({name for names in found for name in names})

    def format(self, /, **kwargs: object) -> dict[str, Any]:
        """Return the dict with the values filled in.

        Raises:
            InvalidInput: a variable has no value.
        """
        missing = [name for name in self.input_variables if name not in kwargs]
        if missing:
            raise MissingVariable(
                f"{self.get_name()} has no value for {', '.join(missing)}; given: {', '.join(kwargs)}"
            )
        return cast(
            "dict[str, Any]", _fill_texts(self.template, lambda text: render(text, self.template_format, kwargs))
        )

    async def aformat(self, /, **kwargs: object) -> dict[str, Any]:
        """Do as `format`, under an event loop."""
        return self.format(**kwargs)

    async def _compute(self, mode: Mode, input: dict[str, Any]) -> dict[str, Any]:
        return self.format(**input)

    def pretty_repr(self, html: bool = False) -> str:
        """Return the template for reading."""
        return str(self.template)


def _iterate_texts(node: object) -> Iterator[str]:
    if isinstance(node, str):
        yield node
    elif isinstance(node, dict | list | tuple):
        children: Any = node.values() if isinstance(node, dict) else node  # pyright: ignore[reportUnknownVariableType]
        for child in children:
            yield from _iterate_texts(child)


def _fill_texts(node: object, fill: Callable[[str], str]) -> Any:
    if isinstance(node, str):
        return fill(node)
    if isinstance(node, dict):
        return {key: _fill_texts(child, fill) for key, child in cast("dict[str, object]", node).items()}
    if isinstance(node, list | tuple):
        return [_fill_texts(child, fill) for child in cast("list[Any]", node)]
    return node
