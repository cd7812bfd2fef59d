"""HTTP: requests and replies as data, streams, errors, connections. What a provider is made of is offered here.

The only place that knows httpx, which it imports when it must.
"""

from hocket.http.json_lines import JSONLines
from hocket.http.request import HTTPReply, HTTPRequest
from hocket.http.sse import ServerSentEvent

__all__ = ["HTTPReply", "HTTPRequest", "JSONLines", "ServerSentEvent"]
