"""What every prompt has in common: variables, some of them filled in beforehand, and what they are formatted to."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Set
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self, TypeVar, cast

from pydantic import ConfigDict, Field

from hocket._runtime.mode import Mode
from hocket.errors import InvalidInput
from hocket.errors.hints import near_name
from hocket.load.serializable import get_fields
from hocket.messages.content import Fields
from hocket.prompt_values import ChatPromptValue, PromptValue, StringPromptValue
from hocket.prompts.missing import MissingVariable
from hocket.prompts.prompt_files import write_file
from hocket.runnables.chain_run import ChainRun
from hocket.runnables.config import RunnableConfig, merge_configs
from hocket.runnables.with_run import PureRunnable

if TYPE_CHECKING:
    from pydantic import BaseModel

__all__ = ["BasePromptTemplate", "FormatOutputType"]

FormatOutputType = TypeVar("FormatOutputType")


class BasePromptTemplate(PureRunnable[dict[str, Any], PromptValue], ABC, Generic[FormatOutputType]):
    """A prompt with variables. Called with their values, it returns a `PromptValue`, which models take.

    Values beyond its variables are allowed. A prompt of one variable may be called with that one's value alone, unless
    it is a mapping.

    Args:
        input_variables: the names of the values that a call must give; found in the template.
        optional_variables: those that it may give; found in the template.
        partial_variables: values given beforehand, by name; a function is called for its value at each call.
        metadata, tags: of the prompt, for programs that store prompts, and of each of its runs.
    """

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid", arbitrary_types_allowed=True)

    _run_type: ClassVar[str] = "prompt"
    _is_whole: ClassVar[bool] = True

    input_variables: list[str] = Field(default_factory=list)
    optional_variables: list[str] = Field(default_factory=list)
    partial_variables: Mapping[str, object] = Field(default_factory=dict)
    metadata: dict[str, Any] | None = None
    tags: list[str] | None = None

    if not TYPE_CHECKING:

        def __init__(self, **fields: Any) -> None:
            super().__init__(**fields)
            self._check_template()  # not in a validator, where an InvalidInput would be wrapped

    @property
    def OutputType(self) -> object:
        """The type of an output: a prompt as text, or as messages."""
        return StringPromptValue | ChatPromptValue

    def get_input_schema(self, config: RunnableConfig | None = None) -> "type[BaseModel]":
        """Return the pydantic model of an input: an object with a text for each variable."""
        from hocket.runnables.type_schemas import make_object_schema

        return make_object_schema("PromptInput", self._get_variable_types())

    def _get_variable_types(self) -> dict[str, tuple[object, object]]:
        """Return type and default (``...``: none) of each variable."""
        required: dict[str, tuple[object, object]] = {name: (str, ...) for name in self.input_variables}
        return {**required, **{name: (str, None) for name in self.optional_variables}}

    @classmethod
    def is_lc_serializable(cls) -> bool:
        """Prompts travel as data. Functions and example selectors do not, and make loading fail."""
        return True

    @abstractmethod
    def format(self, /, **kwargs: object) -> FormatOutputType:
        """Return the template with the values filled in.

        Raises:
            InvalidInput: a variable has no value, or one that it cannot take.
        """

    async def aformat(self, /, **kwargs: object) -> FormatOutputType:
        """Do as `format`, under an event loop."""
        return self.format(**kwargs)

    @abstractmethod
    def format_prompt(self, /, **kwargs: object) -> PromptValue:
        """Return the template with the values filled in, for a model. Raises as `format`."""

    async def aformat_prompt(self, /, **kwargs: object) -> PromptValue:
        """Do as `format_prompt`, under an event loop."""
        return self.format_prompt(**kwargs)

    def _open_run(self, mode: Mode, config: RunnableConfig) -> ChainRun | None:
        if self.tags or self.metadata:
            config = merge_configs(config, {"tags": self.tags or [], "metadata": self.metadata or {}})
        return super()._open_run(mode, config)

    async def _compute(self, mode: Mode, input: object) -> PromptValue:
        values = self._name_values(input)
        return await self.aformat_prompt(**values) if mode.is_async else self.format_prompt(**values)

    def partial(self, /, **kwargs: object) -> Self:
        """Return this prompt with values given beforehand. A function is called for its value at each call."""
        return self._derive(partial_variables={**self.partial_variables, **kwargs})

    def save(self, file_path: str | Path) -> None:
        """Write the prompt to a file, for `load_prompt`. Directories above it are made.

        Args:
            file_path: ``.json``, ``.yaml`` or ``.yml`` (with the extra ``yaml``).

        Raises:
            InvalidInput: it has values given beforehand, or is of a kind that is not kept so.
            MissingDependency: the file is to be YAML, and PyYAML is not installed.
            OSError: the file cannot be written.
        """
        write_file(Path(file_path), self._make_config())

    def _make_config(self) -> Fields:
        """Return what `load_prompt_from_config` makes this prompt of."""
        raise InvalidInput(
            f"{self.get_name()} is not kept in such a file: hocket.load.dumps and loads write and read it"
        )

    def _dump_fields(self, kind: str) -> Fields:
        """Return the fields as data, with the kind of prompt."""
        if self.partial_variables:
            names = ", ".join(sorted(self.partial_variables))
            raise InvalidInput(f"a prompt that has values beforehand ({names}) is not saved: give them after loading")
        fields = self.model_dump(mode="json", exclude_defaults=True)
        return {"_type": kind, "input_variables": self.input_variables, **fields}

    def pretty_repr(self, html: bool = False) -> str:
        """Return the prompt for reading."""
        return repr(self)

    def pretty_print(self) -> None:
        """Print `pretty_repr`."""
        print(self.pretty_repr())

    def _derive(self, **changes: object) -> Self:
        """Return a prompt like this one, with changes, whose variables are found again."""
        made = self.model_copy(update=changes)
        made._find_variables()
        return made

    def _check_template(self) -> None:
        """Read the template of a prompt that has just been made, or refuse it."""
        self._find_variables()

    def _find_variables(self) -> None:
        """Leave those variables of the template that have no value beforehand. By default it has those that it had."""
        self._set_variables({*self.input_variables}, {*self.optional_variables})

    def _set_variables(self, required: Set[str], optional: Set[str] = frozenset()) -> None:
        given = self.partial_variables.keys()
        fields = get_fields(self)  # no assignment: it would count as the caller's
        fields["input_variables"] = sorted(required - given)
        fields["optional_variables"] = sorted(optional - required - given)

    def _name_values(self, input: object) -> dict[str, object]:
        if isinstance(input, Mapping):
            values = cast("Mapping[str, object]", input)
            if not all(isinstance(name, str) for name in values):  # pyright: ignore[reportUnnecessaryIsInstance]  # a caller's mistake
                raise InvalidInput(f"{self.get_name()} takes values by name; these names are no texts: {list(values)}")
            return dict(values)
        if len(self.input_variables) == 1:
            return {self.input_variables[0]: input}
        raise InvalidInput(
            f"{self.get_name()} takes a mapping with values for {self.input_variables}, not {type(input).__name__}"
        )

    def _merge_values(self, given: dict[str, object]) -> dict[str, object]:
        """Return what is ``given`` with what was given beforehand.

        Raises:
            InvalidInput: a variable has no value.
        """
        for name in self.input_variables:
            if name not in given:
                self._refuse_missing(given)
        if not self.partial_variables:
            return given
        return {
            **{name: value() if callable(value) else value for name, value in self.partial_variables.items()},
            **given,
        }

    def _refuse_missing(self, given: Mapping[str, object]) -> None:
        missing = [name for name in self.input_variables if name not in given]
        unknown = [name for name in given if name not in self.input_variables]
        near = [f"{name!r} for {match!r}" for name in missing if (match := near_name(name, unknown))]
        hint = f"; did you mean {', '.join(near)}?" if near else ""
        raise MissingVariable(
            f"{self.get_name()} has no value for {', '.join(map(repr, missing))}; given: "
            f"{', '.join(map(repr, given)) or 'nothing'}{hint} (Braces that are text are written twice: "
            f"{{{{{missing[0]}}}}}.)"
        )
