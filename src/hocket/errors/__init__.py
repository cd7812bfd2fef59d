"""Every error and warning that hocket raises on its own account, in one tree.

    Exception
    └── HocketError
        ├── InvalidInput (ValueError)        an argument no model could use: its type, its shape, its length
        │   └── UnknownOption                an option of a call that the model has no name for
        ├── InvalidHook (TypeError)          a subclass without a usable hook, or a hook that returned nonsense
        ├── EmptyResponse (ValueError)       a model that ended without saying anything
        ├── CacheMissing (ValueError)        `cache=True` without a cache to use
        ├── LoadError (ValueError)           data that names a type which may not be built
        ├── InvalidHistory (ValueError)      a conversation that providers refuse
        ├── HistoryError (RuntimeError)      a store of conversations could not be read or written
        │   ├── HistoryUnavailable           its server could not be reached, broke off or took too long
        │   │   └── HistoryLockLost          a run lost the conversation that it had to itself
        │   └── HistoryBusy (TimeoutError)   another run has the conversation to itself
        ├── DocumentError (ValueError)       a file, or a place in it, that cannot be read
        ├── VectorStoreError (RuntimeError)  a store of vectors could not be read or written
        │   ├── VectorStoreUnavailable       its server could not be reached, broke off or took too long
        │   └── EmbeddingMismatch            it holds vectors of another embedding model
        ├── StoreError (RuntimeError)        what processes share (cache, limit, budget, ledger) could not be read or written
        │   └── StoreUnavailable             its server could not be reached, broke off or took too long
        │       └── EngineUnavailable        the store of durable runs could not be reached
        ├── RunError (RuntimeError)          something about a durable run:
        │   ├── RunExists                    there is one of this id, started with something else
        │   ├── UnknownRun (LookupError)     there is none of this id
        │   ├── RunFailed                    it has ended with an error
        │   ├── RunCanceled                  it was called off
        │   ├── OutcomeUnknown               a step was begun, and its end is unknown
        │   └── StepFailed                   a step raised an error of a class of its own
        ├── AnswerBusy (RuntimeError)        a live answer of this name is running
        ├── AnswerLost (RuntimeError)        the process that made a live answer is gone
        ├── AnswerTooLarge (RuntimeError)    a live answer has more events than are kept
        ├── SummaryTooLong (RuntimeError)    a model that was to shorten a conversation did not
        ├── OutputParserException (ValueError)  the parser cannot read the model's answer
        ├── MissingDependency (ImportError)  an optional package or its data is not installed
        ├── UnknownModel (ValueError)        a model name that is not registered
        ├── LocalModelError (RuntimeError)   the embedded model cannot be loaded, or refused a request
        ├── SyncInLoop (RuntimeError)        a sync verb called where only its async twin can work
        ├── LLMError                         a model's server, or the way to it, failed; `code` says how:
        │   ├── AuthenticationError          authentication        the key is missing, wrong or may not do this
        │   │   └── PermissionDenied
        │   ├── RateLimitError               rate_limit            too many requests or tokens for now
        │   ├── QuotaExceeded                quota_exceeded        the account is empty; waiting does not help
        │   ├── InvalidRequest (ValueError)  invalid_request       the server refused the request
        │   │   ├── ContextLengthExceeded    token_limit           the conversation is longer than the model's window
        │   │   └── ContentFiltered          content_filter        a filter stopped the request or the answer
        │   ├── ResourceNotFound             resource_not_found    no such model, file or path
        │   ├── RequestTimeout (TimeoutError)     timeout          no answer in time
        │   │   ├── ConnectTimeout                                 no connection in time
        │   │   ├── FirstTokenTimeout                              a stream that did not begin in time
        │   │   ├── IdleTimeout                                    a stream that fell silent
        │   │   └── TotalTimeout                                   all of it took too long
        │   ├── RequestCanceled              canceled              the server says that the request was called off
        │   ├── ProviderUnavailable          provider_unavailable  the server failed or is not there
        │   │   ├── Overloaded
        │   │   └── ConnectionFailed (ConnectionError)             refused, reset, no such host
        │   ├── Unsupported                  not_implemented       the provider does not support it
        │   ├── InvalidReply                 unknown               the reply is not what its format says, or too large
        │   └── StreamTruncated              provider_unavailable  a stream ended before its terminal event
        ├── BudgetError (RuntimeError)       a budget does not let a request be made; nothing was sent
        │   ├── BudgetExceeded               it could cost more than is left
        │   ├── Unpriceable                  what it may cost is not known
        │   └── BudgetStoreFailed            the budget's store cannot be asked
        ├── ToolException                    a tool failed, with a text for the model
        │   ├── RetryTool                    the model is to call it again, differently
        │   ├── ToolServerUnavailable        a server of tools is not there, or does not answer
        │   └── ToolTimeout (TimeoutError)   a tool took longer than it may
        ├── LimitReached (RuntimeError)      a run of an agent used all that it may
        ├── StopRun                          a tool ends the run that its call belongs to
        ├── ScriptExhausted (LookupError)    a scripted model was asked more often than its script says
        └── FakeListLLMError                 the failure that a fake was set to raise

    Warning
    └── HocketWarning (UserWarning)          shown by default, unlike DeprecationWarning
        ├── BlockingCallWarning              a sync verb holds up a running event loop
        ├── DroppedStateWarning              pickling left something behind
        ├── StaleCassetteWarning             a cassette is older than a suite allows
        └── UnsupportedOptionWarning         an option that cannot be taken was left out

    BaseException
    ├── UnrecordedCall                       a recorded tool was called as it was not recorded, in a test
    ├── CassetteMiss                         a request that its cassette has no recording of, in a test
    └── ModelRequestsBlocked                 a request beyond this machine, in a test that may not make any

Most also derive from the builtin that langchain-core raises in the same place, so that ``except ValueError`` written
for it goes on working. A message names the value, the limit that it broke and the way out.
"""

from hocket.errors.durable import (
    EngineUnavailable,
    OutcomeUnknown,
    RunCanceled,
    RunError,
    RunExists,
    RunFailed,
    StepFailed,
    UnknownRun,
)
from hocket.errors.llm import (
    AuthenticationError,
    ConnectionFailed,
    ConnectTimeout,
    ContentFiltered,
    ContextLengthExceeded,
    ErrorCode,
    FirstTokenTimeout,
    IdleTimeout,
    InvalidReply,
    InvalidRequest,
    LLMError,
    Overloaded,
    PermissionDenied,
    ProviderUnavailable,
    QuotaExceeded,
    RateLimitError,
    RequestCanceled,
    RequestTimeout,
    ResourceNotFound,
    StreamTruncated,
    TotalTimeout,
    Unsupported,
)
from hocket.errors.own import (
    BlockingCallWarning,
    BudgetError,
    BudgetExceeded,
    BudgetStoreFailed,
    CacheMissing,
    CassetteMiss,
    DocumentError,
    DroppedStateWarning,
    EmptyResponse,
    FakeListLLMError,
    HocketError,
    HocketWarning,
    InvalidHistory,
    InvalidHook,
    InvalidInput,
    LimitReached,
    LoadError,
    LocalModelError,
    MissingDependency,
    ModelRequestsBlocked,
    OutputParserException,
    RetryTool,
    ScriptExhausted,
    StaleCassetteWarning,
    StopRun,
    SummaryTooLong,
    SyncInLoop,
    ToolException,
    ToolServerUnavailable,
    ToolTimeout,
    UnknownModel,
    UnknownOption,
    Unpriceable,
    UnrecordedCall,
    UnsupportedOptionWarning,
)
from hocket.errors.stores import (
    AnswerBusy,
    AnswerLost,
    AnswerTooLarge,
    EmbeddingMismatch,
    HistoryBusy,
    HistoryError,
    HistoryLockLost,
    HistoryUnavailable,
    StoreError,
    StoreUnavailable,
    VectorStoreError,
    VectorStoreUnavailable,
)

__all__ = [
    "AnswerBusy",
    "AnswerLost",
    "AnswerTooLarge",
    "AuthenticationError",
    "BlockingCallWarning",
    "BudgetError",
    "BudgetExceeded",
    "BudgetStoreFailed",
    "CacheMissing",
    "CassetteMiss",
    "ConnectTimeout",
    "ConnectionFailed",
    "ContentFiltered",
    "ContextLengthExceeded",
    "DocumentError",
    "DroppedStateWarning",
    "EmbeddingMismatch",
    "EmptyResponse",
    "EngineUnavailable",
    "ErrorCode",
    "FakeListLLMError",
    "FirstTokenTimeout",
    "HistoryBusy",
    "HistoryError",
    "HistoryLockLost",
    "HistoryUnavailable",
    "HocketError",
    "HocketWarning",
    "IdleTimeout",
    "InvalidHistory",
    "InvalidHook",
    "InvalidInput",
    "InvalidReply",
    "InvalidRequest",
    "LLMError",
    "LimitReached",
    "LoadError",
    "LocalModelError",
    "MissingDependency",
    "ModelRequestsBlocked",
    "OutcomeUnknown",
    "OutputParserException",
    "Overloaded",
    "PermissionDenied",
    "ProviderUnavailable",
    "QuotaExceeded",
    "RateLimitError",
    "RequestCanceled",
    "RequestTimeout",
    "ResourceNotFound",
    "RetryTool",
    "RunCanceled",
    "RunError",
    "RunExists",
    "RunFailed",
    "ScriptExhausted",
    "StaleCassetteWarning",
    "StepFailed",
    "StopRun",
    "StoreError",
    "StoreUnavailable",
    "StreamTruncated",
    "SummaryTooLong",
    "SyncInLoop",
    "ToolException",
    "ToolServerUnavailable",
    "ToolTimeout",
    "TotalTimeout",
    "UnknownModel",
    "UnknownOption",
    "UnknownRun",
    "Unpriceable",
    "UnrecordedCall",
    "Unsupported",
    "UnsupportedOptionWarning",
    "VectorStoreError",
    "VectorStoreUnavailable",
]
