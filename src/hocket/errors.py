"""Every error and warning that hocket raises on its own account, in one tree.

    Exception
    └── HocketError
        ├── InvalidInput (ValueError)        an argument no model could use: its type, its shape, its length
        ├── InvalidHook (TypeError)          a subclass without a usable hook, or a hook that returned nonsense
        ├── EmptyResponse (ValueError)       a model that ended without saying anything
        ├── CacheMissing (ValueError)        `cache=True` without a cache to use
        ├── LoadError (ValueError)           data that names a type which may not be built
        ├── MissingDependency (ImportError)  an optional package or its data is not installed
        ├── UnknownModel (ValueError)        a model name that nobody registered
        ├── LocalModelError (RuntimeError)   the embedded model cannot be loaded, or refused a request
        ├── SyncInLoop (RuntimeError)        a sync verb called where only its async twin can work
        ├── ScriptExhausted (LookupError)    a scripted model was asked more often than its script says
        └── FakeListLLMError                 the failure that a fake was told to raise

    Warning
    └── HocketWarning (UserWarning)          shown by default, unlike DeprecationWarning
        ├── BlockingCallWarning              a sync verb holds up a running event loop
        └── DroppedStateWarning              pickling left something behind

Most also derive from the builtin that langchain-core raises in the same place, so that ``except ValueError`` written
for it goes on working. A message names the value, the limit that it broke and the way out.
"""

__all__ = [
    "BlockingCallWarning",
    "CacheMissing",
    "DroppedStateWarning",
    "EmptyResponse",
    "FakeListLLMError",
    "HocketError",
    "HocketWarning",
    "InvalidHook",
    "InvalidInput",
    "LoadError",
    "LocalModelError",
    "MissingDependency",
    "ScriptExhausted",
    "SyncInLoop",
    "UnknownModel",
]


class HocketError(Exception):
    """Base class of every exception that hocket raises on its own account."""


class InvalidInput(HocketError, ValueError):
    """An argument that no model could use. Raised before a run starts: no handler hears of it and nothing is sent."""


class InvalidHook(HocketError, TypeError):
    """A model class that defines no hook, or a hook that returned something other than its contract says."""


class EmptyResponse(HocketError, ValueError):
    """A model that ended without a generation, or a stream that ended without a chunk."""


class CacheMissing(HocketError, ValueError):
    """A model with ``cache=True`` was called while no global cache is set."""


class LoadError(HocketError, ValueError):
    """Serialised data names a type that is not registered or not allowed, or is damaged."""


class MissingDependency(HocketError, ImportError):
    """An optional package, or the data it ships, is not installed; the message names the command that installs it."""


class UnknownModel(HocketError, ValueError):
    """A model name that no provider answers to; the message lists the ones that exist."""


class LocalModelError(HocketError, RuntimeError):
    """The embedded model could not be loaded, or refused a request (too long for its window, for example)."""


class SyncInLoop(HocketError, RuntimeError):
    """A sync verb was called on hocket's own event loop, where waiting for it would never end. Await its async twin."""


class ScriptExhausted(HocketError, LookupError):
    """A scripted model was asked once more than its script says."""


class FakeListLLMError(HocketError):
    """The failure that a fake model was told to raise, at ``error_on_chunk_number`` (LangChain's name)."""


class HocketWarning(UserWarning):
    """Base class of hocket's warnings."""


class BlockingCallWarning(HocketWarning):
    """A sync verb was called while an event loop runs in this thread: the loop stands still until it returns."""


class DroppedStateWarning(HocketWarning):
    """Pickling left something behind that cannot travel: a cache, a rate limiter, callbacks."""
