"""hocket's tools as an MCP server: over standard input and output, over HTTP, or in this process."""

from collections.abc import Callable, Sequence

from mcp.server import Server, ServerRequestContext
from mcp.server.stdio import stdio_server
from mcp.types import (
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    PaginatedRequestParams,
    Tool,
    ToolAnnotations,
)
from starlette.applications import Starlette

from hocket._version import __version__
from hocket.agents.mcp.content import find_plain_type, write_plain_schema, write_result
from hocket.errors import InvalidInput, StopRun
from hocket.messages import ToolCall
from hocket.tools import BaseTool, arun_tool_calls
from hocket.tools.calls import index_by_name

__all__ = ["ToolServer", "mcp_server"]


class ToolServer:
    """An MCP server of tools; made by `mcp_server`.

    Attributes:
        name: what it calls itself.
        tools: that it serves.
        sdk: the server of the package ``mcp`` behind it, for what is not offered here.
    """

    def __init__(self, tools: Sequence[BaseTool], name: str) -> None:
        self.name = name
        self.tools: tuple[BaseTool, ...] = tuple(tools)
        self.sdk: Server = Server(name, version=__version__, on_list_tools=self._list, on_call_tool=self._call)

    async def run_stdio(self) -> None:
        """Serve the process that has started this one, over standard input and output, until it closes its end.

        What tools print goes to standard error meanwhile, and they find nothing to read. A cancellation has to wait for
        the next line of input, since a thread reads it.
        """
        async with stdio_server() as (incoming, outgoing):
            await self.sdk.run(incoming, outgoing, self.sdk.create_initialization_options())

    def make_http_app(self, host: str = "127.0.0.1") -> Starlette:
        """Return an ASGI app that serves streamable HTTP at ``/mcp``; a server of ASGI has to run its lifespan.

        It does not check who is asking: put something that does in front of it.

        Args:
            host: where it will listen. On this machine alone, requests with a foreign ``Host`` or ``Origin`` are refused,
                so that no web page can reach it by way of a browser.
        """
        return self.sdk.streamable_http_app(host=host)

    async def _list(self, context: ServerRequestContext, params: PaginatedRequestParams | None) -> ListToolsResult:
        return ListToolsResult(tools=[_describe(tool) for tool in self.tools])

    async def _call(self, context: ServerRequestContext, params: CallToolRequestParams) -> CallToolResult:
        call = ToolCall(type="tool_call", name=params.name, args=params.arguments or {}, id=f"mcp_{context.request_id}")
        try:
            (result,) = await arun_tool_calls([call], self.tools)
        except StopRun as stop:
            (result,) = stop.results
        kind = next((find_plain_type(tool) for tool in self.tools if tool.name == params.name), None)
        return write_result(result, kind)


def mcp_server(tools: Sequence[BaseTool | Callable[..., object]], *, name: str = "hocket") -> ToolServer:
    """Return an MCP server of tools. Its calls go through `hocket.tools.arun_tool_calls`, so errors read as everywhere.

    A tool whose ``metadata`` says ``"idempotent": True`` is announced as one. An artifact that is a JSON object goes out
    as structured content, and is seen by who calls; a number, or a truth value, of a function that is annotated with its
    type, as ``{"result": ...}``, as servers of the package ``mcp`` send it, with an output schema.

    Args:
        tools: to serve; a function becomes one.
        name: what the server calls itself.

    Raises:
        InvalidInput: two tools of a name; a tool is none, or needs an injected argument, which a client cannot give.
    """
    served = [*index_by_name(tools).values()]
    for tool in served:
        missing = sorted(tool.arguments.required_injected)
        if missing:
            raise InvalidInput(
                f"{tool.name} needs injected arguments ({missing[0]!r}), which no client can give: serve a function "
                "that gives it"
            )
    return ToolServer(served, name)


def _describe(tool: BaseTool) -> Tool:
    schema = {key: value for key, value in tool.tool_call_schema.items() if key not in ("title", "description")}
    is_idempotent = (tool.metadata or {}).get("idempotent") is True
    return Tool(
        name=tool.name,
        description=tool.description,
        input_schema={"type": "object", "properties": {}, **schema},
        output_schema=write_plain_schema(tool),
        annotations=ToolAnnotations(idempotent_hint=True) if is_idempotent else None,
    )
