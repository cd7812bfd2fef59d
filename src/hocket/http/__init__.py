"""HTTP: requests and replies as data, streams, errors, connections. What a provider is made of is offered here.

The only place that knows httpx, which it imports when it must.
"""

from hocket.http.failures import classify_error, has_failed
from hocket.http.json_lines import JSONLines
from hocket.http.request import HTTPReply, HTTPRequest, json_request
from hocket.http.sse import ServerSentEvent, ServerSentEvents

__all__ = [
    "HTTPReply",
    "HTTPRequest",
    "JSONLines",
    "ServerSentEvent",
    "ServerSentEvents",
    "classify_error",
    "has_failed",
    "json_request",
]
