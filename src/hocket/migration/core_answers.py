"""Names of langchain_core that have no place in hocket: why, and the way out.

Of each module: names, and the reason with the way out that they share; ``*`` answers for the rest of the module. An answer
counts for as long as the room of the same name does not offer the name.
"""

from collections.abc import Mapping, Sequence

__all__ = ["CORE_ANSWERS", "MEMORY", "OTHER_MEANINGS", "PYDANTIC", "Reason"]

Reason = tuple[str, str]
"""Why a name has no place in hocket, and the way out."""

OTHER_MEANINGS: frozenset[str] = frozenset({"langchain_core.exceptions.ErrorCode"})
"""Names that hocket's room offers for something else."""

_INNER = ("an inner part of LangChain, which its own code calls", "remove the import, or copy what you need of it")
_TYPE_VARIABLE = ("a type variable", "write `T = TypeVar('T')` of your own")
_LANGSMITH = ("LangSmith is not built in", "use the package langsmith itself, or a callback handler of your own")
_TRANSLATOR = (
    "every provider's blocks are read by themselves",
    "read message.content_blocks; nothing has to be registered or called",
)
_PATH = ("a type for paths", "write str | os.PathLike[str]")
_GRAPH = ("how a chain is drawn is no public part", "use chain.get_graph().draw_mermaid() or print_ascii()")
_GRAPH_DATA = ("an inner part of the drawing of chains", "use what chain.get_graph() returns")
_STREAM_OBJECTS = (
    "a stream of hocket is one object",
    "`async with model.astream(...) as stream`: iterate it, and read stream.message at its end",
)
_LOG_STREAM = ("astream_log is deprecated in LangChain and absent here", "read chain.astream_events(..., version='v2')")
_RECORDS = (
    "there is no record manager: the vector store itself is asked what it has",
    "hocket.indexing.index(docs, store, cleanup=...)",
)
_ENVIRONMENT = ("a helper for the environment", "use os.environ.get")
_TERMINAL = ("printing in colour is no matter of hocket", "use print, or a package such as rich")
PYDANTIC = (
    "hocket has pydantic 2 alone",
    "use pydantic itself: BaseModel, model_fields, model_json_schema, create_model",
)
"""The answer for what LangChain keeps of pydantic 1."""

_ITERATION = ("a helper for iterators", "use itertools, anyio or contextlib.aclosing")
_STRINGS = ("a helper for strings", "write it with str.join and str.replace")
_TEMPLATE = (
    "templates are checked when they are made",
    "PromptTemplate.from_template(text, template_format=...) raises where a template is wrong",
)
_CONFIG = ("an inner part of how runnables are called", "pass config on to invoke or ainvoke")
_THREADS = ("threads are anyio's", "await anyio.to_thread.run_sync(function, ...)")
_CACHE = ("the cache is a stage of every call", "give the model cache=..., or call hocket.globals.set_llm_cache")
_SERIAL = ("an inner part of serialisation", "hocket.load.dumps and loads write and read objects")
MEMORY = (
    "hocket has no such memory",
    "one of hocket.classic.memory, or RunnableWithMessageHistory with a hocket.chat_history",
)
"""The answer for LangChain's memories that hocket has not."""

CORE_ANSWERS: Mapping[str, Sequence[tuple[str, Reason]]] = {
    "langchain_core.agents": [
        (
            "AgentActionMessageLog",
            (
                "an action is a call, without what led to it",
                "hocket.agents.AgentAction; result['messages'] has the rest",
            ),
        ),
    ],
    "langchain_core.beta": [("*", _INNER)],
    "langchain_core.callbacks": [
        ("Func P T", _TYPE_VARIABLE),
        ("ahandle_event handle_event shielded", _INNER),
    ],
    "langchain_core.chat_loaders": [
        (
            "*",
            (
                "exports of chats are not read",
                "read the file, and give its rows to hocket.messages.convert_to_messages",
            ),
        )
    ],
    "langchain_core.chat_sessions": [("*", ("it belongs to the loaders of chats", "use a list of messages"))],
    "langchain_core.document_loaders": [
        ("PathLike", _PATH),
        ("LangSmithLoader", _LANGSMITH),
    ],
    "langchain_core.env": [("*", ("it describes the machine for LangSmith", "use platform of the standard library"))],
    "langchain_core.exceptions": [
        (
            "ErrorCode create_message",
            ("LangChain's codes name its pages", "read error.code, and the text, which says what to do"),
        ),
        ("TracerException", ("tracers are handlers like others", "catch Exception")),
    ],
    "langchain_core.indexing": [
        ("DeleteResponse IndexingException InMemoryRecordManager RecordManager UpsertResponse", _RECORDS),
        ("DocumentIndex InMemoryDocumentIndex", ("there is one kind of store", "hocket.vectorstores.VectorStore")),
        ("T", _TYPE_VARIABLE),
    ],
    "langchain_core.language_models": [
        ("LanguageModelOutputVar", _TYPE_VARIABLE),
        ("get_tokenizer", ("no tokenizer of GPT-2 is loaded", "hocket.tokens.count_tokens, or model.get_num_tokens")),
        (
            "AsyncChatModelStream AsyncProjection AsyncTextProjection ChatModelStream SyncProjection SyncTextProjection",
            _STREAM_OBJECTS,
        ),
        ("aget_prompts aupdate_cache get_prompts update_cache", _CACHE),
        (
            "create_base_retry_decorator",
            ("retries are a stage of every call", "give the model retry=..."),
        ),
    ],
    "langchain_core.load": [
        (
            "Reviver default",
            (
                "json's hooks see what is inside before what it is in, and would build what a user's dict only looks like",
                "hocket.load.loads(text) and dumps(object), or load(data) and dumpd(object) beside json",
            ),
        ),
        (
            "default_init_validator try_neq_default",
            _SERIAL,
        ),
    ],
    "langchain_core.messages": [
        ("LC_AUTO_PREFIX LC_ID_PREFIX ensure_id", ("ids of messages are not told by a prefix", "give id=... yourself")),
        ("TextAccessor", ("message.text is a plain str", "write str")),
        (
            "add_ai_message_chunks",
            ("chunks are added with +", "`first + second`, or hocket.messages.Collector for many"),
        ),
        (
            "get_translator register_translator translate_content translate_content_chunk "
            "translate_grounding_metadata_to_citations",
            _TRANSLATOR,
        ),
        (
            "ToolOutputMixin",
            ("a tool's result needs no base class", "return any value, or a hocket.messages.ToolMessage"),
        ),
    ],
    "langchain_core.memory": [("*", MEMORY)],
    "langchain_core.output_parsers": [
        ("T", _TYPE_VARIABLE),
        ("droplastn nested_element", _INNER),
    ],
    "langchain_core.prompts": [
        ("MessagePromptTemplateT", _TYPE_VARIABLE),
        ("is_subsequence mustache_schema", _TEMPLATE),
    ],
    "langchain_core.pydantic_v1": [
        (
            "validator root_validator",
            ("hocket has pydantic 2 alone", "pydantic.field_validator and model_validator (with @classmethod)"),
        ),
        ("*", PYDANTIC),
    ],
    "langchain_core.retrievers": [("LangSmithRetrieverParams", _LANGSMITH)],
    "langchain_core.runnables": [
        ("gated_coro", _THREADS),
        ("P T U", _TYPE_VARIABLE),
        (
            "DynamicRunnable",
            ("wrappers have one base", "hocket.runnables.RunnableWrapper, or RunnableBinding"),
        ),
        (
            "EmptyDict acall_func_with_variable_args call_func_with_variable_args",
            _CONFIG,
        ),
        (
            "make_options_spec prefix_config_spec",
            ("an inner part of configurable fields", "use chain.config_specs"),
        ),
        ("Branch LabelsDict MermaidDrawMethod Stringifiable", _GRAPH_DATA),
        ("AsciiCanvas PngDrawer VertexViewer draw_mermaid_png", _GRAPH),
        ("node_data_json node_data_str", _GRAPH_DATA),
        ("Addable SupportsAdd", ("a protocol for typing", "write a Protocol with __add__")),
        (
            "FunctionNonLocals GetLambdaSource IsFunctionArgDict IsLocalDict NonLocals accepts_context "
            "asyncio_accepts_context coro_with_context get_function_first_arg_dict_keys "
            "get_function_nonlocals get_lambda_source indent_lines_after_first",
            ("an inner part of how functions become runnables", "use inspect of the standard library"),
        ),
    ],
    "langchain_core.stores": [("K V", _TYPE_VARIABLE)],
    "langchain_core.structured_query": [
        (
            "*",
            (
                "a store's filter is plain data, which a model can write itself",
                "a dict such as {'year': {'$lt': 2024}}, given to a search as filter=...",
            ),
        )
    ],
    "langchain_core.sys_info": [("*", ("it lists LangChain's packages", "pip list"))],
    "langchain_core.tools": [
        (
            "SchemaAnnotationError",
            ("a wrong schema is refused when the tool is made", "catch pydantic.ValidationError"),
        ),
        ("get_all_basemodel_annotations", _INNER),
    ],
    "langchain_core.tracers": [
        ("EvaluatorCallbackHandler wait_for_all_evaluators", _LANGSMITH),
        (
            "LangChainTracer",
            (
                "LangSmith is not built in",
                "callbacks=[LangChainTracer()] of LangChain's own works as it is (pip install 'hocket[langchain]')",
            ),
        ),
        ("get_client log_error_once tracing_v2_enabled wait_for_all_tracers", _LANGSMITH),
        ("LogEntry LogStreamCallbackHandler RunLog RunLogPatch RunState", _LOG_STREAM),
        ("RunInfo elapsed", _INNER),
        ("T", _TYPE_VARIABLE),
    ],
    "langchain_core.utils": [
        ("abatch_iterate batch_iterate", ("a helper for lists", "itertools.batched (Python 3.12), or slices")),
        ("NoLock T Tee atee py_anext safetee tee_peer", _ITERATION),
        ("env_var_is_set", _ENVIRONMENT),
        ("get_bolded_text get_color_mapping get_colored_text print_text is_interactive_env", _TERMINAL),
        ("comma_list sanitize_for_postgres stringify_dict stringify_value", _STRINGS),
        ("extract_sub_links find_all_links", ("pages are read by a loader", "hocket.document_loaders.HTMLLoader")),
        (
            "image StrictFormatter formatter build_extra_kwargs check_package_version ensure_id get_pydantic_field_names "
            "guard_import mock_now raise_for_status_with_text xor_args",
            _INNER,
        ),
        (
            "dereference_refs",
            ("schemas are resolved where they are needed", "hocket.tools.convert_to_json_schema(model)"),
        ),
    ],
    "langchain_core.utils.mustache": [("*", ("mustache is read by a package", "use chevron or pystache itself"))],
    "langchain_core.utils.pydantic": [("*", PYDANTIC)],
    "langchain_core.vectorstores": [
        ("VST", _TYPE_VARIABLE),
        (
            "maximal_marginal_relevance",
            ("the stores do it themselves", "store.max_marginal_relevance_search(...), or search_type='mmr'"),
        ),
    ],
}
"""LangChain's module → names (separated by blanks), and the reason why they, or all in modules below it, have no place."""
