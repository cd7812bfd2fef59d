"""What a runnable says about itself: what goes in, what comes out, what may be configured, and how it looks as a graph."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from hocket.runnables.config import RunnableConfig
from hocket.runnables.config_fields import ConfigurableFieldSpec
from hocket.runnables.type_arguments import find_type
from hocket.runnables.verbs import RunnableVerbs

if TYPE_CHECKING:
    from pydantic import BaseModel

    from hocket.runnables.as_tool import ArgsSchema, BaseTool
    from hocket.runnables.graph import Graph

__all__ = ["RunnableDescription", "WrapperDescription", "join_specs"]

Input = TypeVar("Input")
Output = TypeVar("Output")


class RunnableDescription(RunnableVerbs[Input, Output], ABC, Generic[Input, Output]):
    """What a `Runnable` says about itself. The names are LangChain's.

    Schemas are for readers, and for what is built from them (a form, a tool): no call is checked by them.
    """

    @property
    def InputType(self) -> object:
        """The type of an input; `typing.Any`, if the class does not say."""
        return find_type(type(self), 0)

    @property
    def OutputType(self) -> object:
        """The type of an output; `typing.Any`, if the class does not say."""
        return find_type(type(self), 1)

    @property
    def input_schema(self) -> "type[BaseModel]":
        """What `get_input_schema` returns."""
        return self.get_input_schema()

    @property
    def output_schema(self) -> "type[BaseModel]":
        """What `get_output_schema` returns."""
        return self.get_output_schema()

    def get_input_schema(self, config: RunnableConfig | None = None) -> "type[BaseModel]":
        """Return the pydantic model of an input; what is no object has its type as ``root``."""
        from hocket.runnables.type_schemas import make_schema

        return make_schema(self.get_name("Input"), self.InputType)

    def get_output_schema(self, config: RunnableConfig | None = None) -> "type[BaseModel]":
        """Return the pydantic model of an output; what is no object has its type as ``root``."""
        from hocket.runnables.type_schemas import make_schema

        return make_schema(self.get_name("Output"), self.OutputType)

    def get_input_jsonschema(self, config: RunnableConfig | None = None) -> dict[str, Any]:
        """Return the JSON schema of an input. What JSON cannot say is anything."""
        from hocket.runnables.type_schemas import write_json_schema

        return write_json_schema(self.get_input_schema(config))

    def get_output_jsonschema(self, config: RunnableConfig | None = None) -> dict[str, Any]:
        """Return the JSON schema of an output. What JSON cannot say is anything."""
        from hocket.runnables.type_schemas import write_json_schema

        return write_json_schema(self.get_output_schema(config))

    @property
    def config_specs(self) -> list[ConfigurableFieldSpec]:
        """What a call may set under ``config["configurable"]``, here and in what is called inside."""
        return []

    def as_tool(
        self,
        args_schema: "ArgsSchema | None" = None,
        *,
        name: str | None = None,
        description: str | None = None,
        arg_types: dict[str, object] | None = None,
    ) -> "BaseTool":
        """Return a tool that calls this runnable.

        Args:
            args_schema: of its arguments; by default that of ``arg_types``, or else `get_input_schema`.
            name: by default that of the runnable.
            description: by default that of the schema, or else what is called.
            arg_types: the types of the arguments by name.

        Raises:
            InvalidInput: nobody says what the arguments are; or the name or schema will not do.
        """
        from hocket.runnables.as_tool import convert_runnable_to_tool

        return convert_runnable_to_tool(
            cast(Any, self), args_schema, name=name, description=description, arg_types=arg_types
        )

    def get_graph(self, config: RunnableConfig | None = None) -> "Graph":
        """Return the steps of this runnable as a graph, which can be drawn: ``print(chain.get_graph().draw_mermaid())``."""
        from hocket.runnables.graph import Graph

        graph = Graph()
        first = graph.add_node(self.get_input_schema(config))
        node = graph.add_node(self)
        last = graph.add_node(self.get_output_schema(config))
        graph.add_edge(first, node)
        graph.add_edge(node, last)
        return graph


class WrapperDescription(RunnableDescription[Input, Output], ABC, Generic[Input, Output]):
    """What a runnable around others says about itself: what the first of them says."""

    @abstractmethod
    def _get_wrapped(self) -> "Sequence[RunnableDescription[Input, Output]]":
        """Return the runnables inside; the first stands for all."""

    def _get_chosen(self) -> "RunnableDescription[Input, Output]":
        """Return the one whose attributes are this one's, too."""
        return self._get_wrapped()[0]

    @property
    def InputType(self) -> object:
        """The type of an input."""
        return self._get_wrapped()[0].InputType

    @property
    def OutputType(self) -> object:
        """The type of an output."""
        return self._get_wrapped()[0].OutputType

    def get_input_schema(self, config: RunnableConfig | None = None) -> "type[BaseModel]":
        """Return the pydantic model of an input."""
        return self._get_wrapped()[0].get_input_schema(config)

    def get_output_schema(self, config: RunnableConfig | None = None) -> "type[BaseModel]":
        """Return the pydantic model of an output."""
        return self._get_wrapped()[0].get_output_schema(config)

    @property
    def config_specs(self) -> list[ConfigurableFieldSpec]:
        """What a call may set under ``config["configurable"]``."""
        return join_specs(self._get_wrapped())


def join_specs(runnables: Iterable[RunnableDescription[Any, Any]]) -> list[ConfigurableFieldSpec]:
    """Return what calls of any of ``runnables`` may set, each key once."""
    specs: dict[str, ConfigurableFieldSpec] = {}
    for runnable in runnables:
        for spec in runnable.config_specs:
            specs.setdefault(spec.id, spec)
    return list(specs.values())
