"""Tools of MCP servers as hocket's tools, and hocket's tools as an MCP server (https://modelcontextprotocol.io).

The protocol is spoken by its official package, the extra ``mcp``, which takes two seconds to import: that is why none of
this stands in `hocket.agents`.
"""

from hocket.errors import MissingDependency

try:
    from mcp import Client as _Client  # noqa: F401  # pyright: ignore[reportUnusedImport]  # versions before 2 have none
except ImportError as _error:
    raise MissingDependency("tools of MCP servers need a package; run `pip install 'hocket[mcp]'`") from _error

from hocket.agents.mcp.client import MCPTools, mcp_tools
from hocket.agents.mcp.server import ToolServer, mcp_server
from hocket.agents.mcp.servers import MCPServers, mcp_servers

__all__ = ["MCPServers", "MCPTools", "ToolServer", "mcp_server", "mcp_servers", "mcp_tools"]
