"""HTTP: requests and replies as data, streams, errors, connections. What a provider is made of is offered here.

The only place that knows httpx, which it imports when it must.
"""

from hocket.http.failures import failure, has_failed
from hocket.http.framing import JSONLines, ServerSentEvent, ServerSentEvents
from hocket.http.request import HTTPReply, HTTPRequest, json_request

__all__ = [
    "HTTPReply",
    "HTTPRequest",
    "JSONLines",
    "ServerSentEvent",
    "ServerSentEvents",
    "failure",
    "has_failed",
    "json_request",
]
