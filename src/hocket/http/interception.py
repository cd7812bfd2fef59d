"""A seam over every connection, for tests: what stands between a request and what would send it.

One for all providers, both event loops, sync verbs, threads and injected clients; of the whole process, since a sync verb
may send from a thread, and a loop, of hocket's own. In a program nothing stands there.
"""

import threading
from typing import Protocol

from hocket.http.clients import ClientSettings, Transport

__all__ = ["Layer", "add_layer", "has_layers", "is_key_needed", "remove_layer", "wrap_transport"]


class Layer(Protocol):
    """What gives requests another transport."""

    @property
    def answers_all(self) -> bool:
        """Whether it sends nothing, so that no key is needed."""
        ...

    def wrap(self, transport: Transport, settings: ClientSettings, client: object) -> Transport:
        """Return what sends a request instead.

        Args:
            transport: what would send it.
            settings: of hocket's own client.
            client: that the caller has injected; None: none.
        """
        ...


_lock = threading.Lock()
_layers: tuple[Layer, ...] = ()


def add_layer(layer: Layer, *, at_wire: bool = False) -> None:
    """Put a layer over every transport of the process.

    Args:
        layer: what is put there, until `remove_layer`.
        at_wire: below all others, so that it sees only what they let through; else above them.
    """
    global _layers
    with _lock:
        _layers = (layer, *_layers) if at_wire else (*_layers, layer)


def remove_layer(layer: Layer) -> None:
    """Take a layer away again."""
    global _layers
    with _lock:
        _layers = tuple(one for one in _layers if one is not layer)


def has_layers() -> bool:
    """Whether there is any."""
    return bool(_layers)


def wrap_transport(transport: Transport, settings: ClientSettings, client: object) -> Transport:
    """Return what sends where ``transport`` would, were there no layers."""
    for layer in _layers:
        transport = layer.wrap(transport, settings, client)
    return transport


def is_key_needed() -> bool:
    """Whether requests may be sent, so that a server that wants a key will want it."""
    return not any(layer.answers_all for layer in _layers)
