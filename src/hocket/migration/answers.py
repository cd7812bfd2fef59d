"""Names of LangChain's other packages that have no place in hocket: why, and the way out."""

from collections.abc import Mapping, Sequence

from hocket.migration.core_answers import CORE_ANSWERS, MEMORY, PYDANTIC, Reason

__all__ = ["ANSWERS", "PACKAGE_ANSWERS", "UNBRIDGED"]

_VERTEX = ("Vertex AI is not spoken to", "hocket.ChatGoogleGenerativeAI, with a key of the Gemini API")
_COMMUNITY_STORE = (
    "hocket has no such vector store",
    "SQLiteVectorStore, PGVectorStore or InMemoryVectorStore of hocket.vectorstores, or a subclass of its VectorStore",
)
_COMMUNITY_LOADER = (
    "hocket has no such loader",
    "hocket.document_loaders.open_documents(path), or a subclass of its BaseLoader",
)
_COMMUNITY_TOOL = (
    "tools for services come from their own packages",
    "write a function with @tool around the service's client, or hocket.agents.search_tool(fetch)",
)
_INTEGRATION = (
    "hocket has no such model",
    "a server that speaks OpenAI's format: ChatOpenAI(base_url=...), or init_chat_model('provider:model') "
    "(`hocket models` lists them)",
)
_CALLBACK = (
    "hocket has no such handler",
    "subclass hocket.callbacks.BaseCallbackHandler",
)
_CHAIN = ("hocket has no such chain", "compose it of a prompt, a model and a parser, or see hocket.classic.chains")
_AGENT = (
    "agents are made another way",
    "hocket.agents.create_agent(model, tools, system_prompt=...), or hocket.classic.agents.AgentExecutor",
)
_RETRIEVER = (
    "hocket has no such retriever",
    "one of hocket.retrievers, store.as_retriever(search_type='hybrid') for words and meaning together, or a subclass of "
    "BaseRetriever",
)
_HUB = (
    "prompts are not fetched from a hub",
    "hocket.prompts.hub.pull has the best known; else write the prompt's text into the program",
)
_OTHER = ("hocket has nothing like it", "leave it where it is, or write what you need of it")
_TOKENS = ("tokens are counted, not dollars", "`with hocket.callbacks.get_usage_metadata_callback() as counted`")
_GRAPH = (
    "the state, the store and the nodes of a graph are LangGraph's",
    "an argument annotated with hocket.tools.InjectedToolArg, whose value the call gives: agent.invoke(..., injected={...})",
)
_MENDING = (
    "a parser mends nothing: the model is told what is wrong, and asked again",
    "model.with_structured_output(Answer, reask=2)",
)
_RESPONSE = ("the type itself is given", "create_agent(..., response_format=Answer)")

_MIDDLEWARE = "hocket's middleware is a class with two methods"
_HOOKS: Sequence[tuple[str, Reason]] = [
    (
        "wrap_model_call wrap_tool_call",
        (_MIDDLEWARE, "a subclass of hocket.agents.AgentMiddleware that has this method: docs/agents.md"),
    ),
    (
        "before_model after_model before_agent after_agent dynamic_prompt hook_config",
        (
            _MIDDLEWARE,
            "a subclass of hocket.agents.AgentMiddleware whose wrap_model_call does it before or after "
            "`handler(request)`: docs/agents.md",
        ),
    ),
    (
        "HumanInTheLoopMiddleware InterruptOnConfig",
        ("an agent asks for approval by itself", "hocket.agents.create_agent(..., interrupt_on=...)"),
    ),
    (
        "ModelCallLimitMiddleware ToolCallLimitMiddleware",
        ("an agent has limits by itself", "hocket.agents.create_agent(..., limits=AgentLimits(...))"),
    ),
    ("ModelFallbackMiddleware", ("a model has its fallbacks", "create_agent(model.with_fallbacks([...]), ...)")),
    ("ModelRetryMiddleware", ("a model has its retries", "the model's retry=...")),
    (
        "SummarizationMiddleware ContextEditingMiddleware ClearToolUsesEdit",
        (
            "an agent leaves out the oldest by itself where the model's window is full",
            "nothing, or what you need in a subclass of hocket.agents.AgentMiddleware: docs/agents.md",
        ),
    ),
    ("*", (_MIDDLEWARE, "a subclass of hocket.agents.AgentMiddleware that does what you need of it: docs/agents.md")),
]
_WORDS = ("the API's own words are used", "its string, such as 'HARM_CATEGORY_HARASSMENT' or 'BLOCK_NONE'")

PACKAGE_ANSWERS: Mapping[str, Reason] = {
    "langchain_chroma": _COMMUNITY_STORE,
    "langchain_google_vertexai": _VERTEX,
    "langchain_huggingface": _INTEGRATION,
    "langchain_mcp_adapters": (
        "tools of MCP servers have their own verb",
        "`async with hocket.agents.mcp.mcp_tools(server) as tools`",
    ),
    "langchain_pinecone": _COMMUNITY_STORE,
    "langchain_postgres": (
        "its tables are not read",
        "hocket.vectorstores.PGVectorStore(url, embedding), filled anew, or hocket.chat_history.PostgresChatMessageHistory",
    ),
    "*": _OTHER,
}
"""The answer for what a package has that no other line answers."""

UNBRIDGED: frozenset[Reason] = frozenset(
    {PYDANTIC, _TOKENS, _WORDS, _GRAPH, _MENDING, _RESPONSE, *(answer for _, answer in _HOOKS)}
)
"""Answers for what is of no use beside hocket's objects, so that nothing is bridged."""

ANSWERS: Mapping[str, Sequence[tuple[str, Reason]]] = {
    **CORE_ANSWERS,
    "langchain.agents": [("*", _AGENT)],
    "langchain.agents.middleware": _HOOKS,
    "langchain.agents.structured_output": [("*", _RESPONSE)],
    "langchain.callbacks": [("*", _CALLBACK)],
    "langchain.chains": [("*", _CHAIN)],
    "langchain.chat_models": [("*", _INTEGRATION)],
    "langchain.document_loaders": [("*", _COMMUNITY_LOADER)],
    "langchain.embeddings": [("*", _INTEGRATION)],
    "langchain.evaluation": [("*", ("answers are not graded", "write the grader as a prompt and a model"))],
    "langchain.hub": [("*", _HUB)],
    "langchain.llms": [("*", _INTEGRATION)],
    "langchain.memory": [("*", MEMORY)],
    "langchain.output_parsers": [("OutputFixingParser RetryOutputParser RetryWithErrorOutputParser", _MENDING)],
    "langchain.pydantic_v1": [("*", PYDANTIC)],
    "langchain.retrievers": [("*", _RETRIEVER)],
    "langchain.tools": [("InjectedState InjectedStore ToolNode ToolRuntime", _GRAPH), ("*", _COMMUNITY_TOOL)],
    "langchain.vectorstores": [("*", _COMMUNITY_STORE)],
    "langchain_community.agent_toolkits": [("*", _COMMUNITY_TOOL)],
    "langchain_community.callbacks": [
        (
            "get_openai_callback OpenAICallbackHandler",
            _TOKENS,
        ),
        ("*", _CALLBACK),
    ],
    "langchain_community.chat_message_histories": [
        ("*", ("hocket has no such history", "hocket.chat_history.open_history(url, session_id=...)")),
    ],
    "langchain_community.chat_models": [("*", _INTEGRATION)],
    "langchain_community.document_loaders": [("*", _COMMUNITY_LOADER)],
    "langchain_community.document_transformers": [("*", _COMMUNITY_LOADER)],
    "langchain_community.embeddings": [("*", _INTEGRATION)],
    "langchain_community.llms": [("*", _INTEGRATION)],
    "langchain_community.retrievers": [("*", _RETRIEVER)],
    "langchain_community.tools": [("*", _COMMUNITY_TOOL)],
    "langchain_community.utilities": [("*", _COMMUNITY_TOOL)],
    "langchain_community.vectorstores": [("*", _COMMUNITY_STORE)],
    "langchain_google_genai": [
        (
            "HarmBlockThreshold HarmCategory SafetySetting Modality MediaResolution",
            _WORDS,
        ),
        ("GoogleGenerativeAI", _INTEGRATION),
    ],
    "langchain_huggingface": [
        (
            "HuggingFaceEmbeddings",
            (
                "its models run in PyTorch",
                "hocket.providers.local.LocalEmbeddings() runs all-MiniLM-L6-v2 in this process",
            ),
        ),
        ("*", _INTEGRATION),
    ],
    "langchain_ollama": [
        ("OllamaLLM", ("Ollama's models are chat models", "hocket.ChatOllama; its reply's text is .text"))
    ],
}
"""LangChain's module → names (separated by blanks), and the reason why they, or all in modules below it, have no place."""
