"""Where LangChain's names are in hocket: rooms by module, and the names that another place, or another name, holds.

Most names need no line here: a module's names are looked for in hocket's room of the same name (`hocket.migration.table`).
What has no place stands in `hocket.migration.answers`.
"""

from collections.abc import Mapping

__all__ = ["KEPT_NAMES", "MODULES", "NAMES", "NOTES", "PACKAGES", "ROOMS"]

PACKAGES: frozenset[str] = frozenset(
    {
        "langchain",
        "langchain_anthropic",
        "langchain_chroma",
        "langchain_classic",
        "langchain_cohere",
        "langchain_community",
        "langchain_core",
        "langchain_deepseek",
        "langchain_experimental",
        "langchain_fireworks",
        "langchain_google_genai",
        "langchain_google_vertexai",
        "langchain_groq",
        "langchain_huggingface",
        "langchain_mcp_adapters",
        "langchain_mistralai",
        "langchain_ollama",
        "langchain_openai",
        "langchain_pinecone",
        "langchain_postgres",
        "langchain_text_splitters",
        "langchain_together",
        "langchain_xai",
    }
)
"""The packages whose names are looked at; any other that begins with ``langchain`` is told of."""

_SCHEMA = ("messages", "documents", "prompts", "prompt_values", "output_parsers", "outputs", "agents", "runnables")
_AGENTS = ("agents", "classic.agents", "tools", "retrievers")
_MODELS = ("language_models", "providers.openai", "providers.anthropic", "providers.ollama", "providers.cohere")

ROOMS: Mapping[str, tuple[str, ...]] = {
    # langchain_core: the room of the same name is looked at first, and need not be said.
    "langchain_core.document_loaders": ("documents",),
    "langchain_core.documents": ("document_loaders",),
    "langchain_core.example_selectors": ("prompts",),
    "langchain_core.exceptions": ("errors",),
    "langchain_core.language_models": ("tokens",),
    "langchain_core.stores": ("stores",),
    "langchain_core.tools": ("retrievers",),
    "langchain_core.tracers": ("callbacks", "runnables"),
    "langchain_core.utils.function_calling": ("tools", "messages"),
    "langchain_core.utils.json": ("output_parsers",),
    # The rest of the family: the same room of langchain_classic, and of langchain.
    "langchain.agents": _AGENTS,
    "langchain.cache": ("caches",),
    "langchain.callbacks": ("tracers",),
    "langchain.chains": ("prompts", "runnables", "language_models"),
    "langchain.chat_models": _MODELS,
    "langchain.docstore.document": ("documents",),
    "langchain.embeddings": ("providers.openai", "providers.ollama", "providers.cohere"),
    "langchain.hub": (),
    "langchain.llms": _MODELS,
    "langchain.memory": ("chat_history",),
    "langchain.messages": ("messages",),
    "langchain.prompts": ("prompts",),
    "langchain.retrievers": ("documents",),
    "langchain.schema": _SCHEMA,
    "langchain.schema.runnable": ("runnables",),
    "langchain.storage": ("stores",),
    "langchain.text_splitter": ("text_splitters",),
    "langchain.tools": ("agents", "retrievers"),
    "langchain": ("chains", "classic.chains", "prompts", "globals", "classic.agents", *_MODELS),
    "langchain_community.callbacks": ("callbacks",),
    "langchain_community.cache": ("caches",),
    "langchain_community.chat_message_histories": ("chat_history",),
    "langchain_community.chat_models": _MODELS,
    "langchain_community.document_loaders": ("document_loaders",),
    "langchain_community.embeddings": ("embeddings", "providers.openai", "providers.ollama", "providers.cohere"),
    "langchain_community.llms": _MODELS,
    "langchain_community.tools": ("tools",),
    "langchain_community.vectorstores": ("vectorstores",),
    "langchain_text_splitters": ("text_splitters",),
    "langchain_anthropic": ("providers.anthropic",),
    "langchain_cohere": ("providers.cohere",),
    "langchain_google_genai": ("providers.google",),
    "langchain_mistralai": ("providers.mistral",),
    "langchain_ollama": ("providers.ollama",),
    "langchain_openai": ("providers.openai",),
}
"""LangChain's module, and those below it → the rooms of hocket that are looked at for its names, in this order."""

NAMES: Mapping[str, str] = {
    "langchain_core.exceptions.ContextOverflowError": "hocket.errors.ContextLengthExceeded",
    "langchain_core.exceptions.LangChainException": "hocket.errors.HocketError",
    "langchain_core.exceptions.ModelAPIError": "hocket.errors.ProviderUnavailable",
    "langchain_core.exceptions.ModelAuthenticationError": "hocket.errors.AuthenticationError",
    "langchain_core.exceptions.ModelConnectionError": "hocket.errors.ConnectionFailed",
    "langchain_core.exceptions.ModelError": "hocket.errors.LLMError",
    "langchain_core.exceptions.ModelInvalidRequestError": "hocket.errors.InvalidRequest",
    "langchain_core.exceptions.ModelNotFoundError": "hocket.errors.ResourceNotFound",
    "langchain_core.exceptions.ModelPermissionDeniedError": "hocket.errors.PermissionDenied",
    "langchain_core.exceptions.ModelRateLimitError": "hocket.errors.RateLimitError",
    "langchain_core.exceptions.ModelTimeoutError": "hocket.errors.RequestTimeout",
    "langchain_core.language_models.fake_chat_models.FakeListChatModelError": "hocket.errors.FakeListLLMError",
    "langchain_core.prompts.validate_f_string_template": "hocket.prompts.get_template_variables",
    "langchain_core.output_parsers.PydanticBaseModel": "pydantic.BaseModel",
    "langchain_core.runnables.RunnableBindingBase": "hocket.runnables.RunnableBinding",
    "langchain_core.runnables.RunnableEachBase": "hocket.runnables.RunnableEach",
    "langchain_core.runnables.StrEnum": "enum.StrEnum",
    "langchain_core.tracers.AsyncRootListenersTracer": "hocket.tracers.RootListenersTracer",
    "langchain_core.utils.aclosing": "contextlib.aclosing",
    "langchain_core.utils.convert_to_secret_str": "hocket.remote.convert_to_secret_str",
    "langchain_core.utils.from_env": "hocket.remote.from_env",
    "langchain_core.utils.get_from_dict_or_env": "hocket.remote.get_from_dict_or_env",
    "langchain_core.utils.get_from_env": "hocket.remote.get_from_env",
    "langchain_core.utils.pre_init": "hocket.remote.pre_init",
    "langchain_core.utils.secret_from_env": "hocket.remote.secret_from_env",
    "langchain_core.utils.uuid7": "hocket.callbacks.new_run_id",
    "langchain.hub": "hocket.prompts.hub",
    "langchain.hub.pull": "hocket.prompts.hub.pull",
    "langchain.pydantic_v1.BaseModel": "pydantic.BaseModel",
    "langchain.pydantic_v1.Field": "pydantic.Field",
    "langchain_core.pydantic_v1.BaseModel": "pydantic.BaseModel",
    "langchain_core.pydantic_v1.Field": "pydantic.Field",
    "langchain_core.pydantic_v1.SecretStr": "pydantic.SecretStr",
    "langchain_core.pydantic_v1.ValidationError": "pydantic.ValidationError",
    "langchain_core.utils.pydantic.create_model": "pydantic.create_model",
    "langchain.chat_message_histories.ChatMessageHistory": "hocket.chat_history.InMemoryChatMessageHistory",
    "langchain.memory.ChatMessageHistory": "hocket.chat_history.InMemoryChatMessageHistory",
    "langchain.retrievers.document_compressors.CohereRerank": "hocket.providers.cohere.CohereRerank",
    "langchain_cohere.rerank.CohereRerank": "hocket.providers.cohere.CohereRerank",
    "langchain_community.chat_message_histories.ChatMessageHistory": "hocket.chat_history.InMemoryChatMessageHistory",
    "langchain_community.chat_message_histories.SQLChatMessageHistory": "hocket.chat_history.open_history",
    "langchain_community.document_loaders.Docx2txtLoader": "hocket.document_loaders.DocxLoader",
    "langchain_community.document_loaders.PyMuPDFLoader": "hocket.document_loaders.PyPDFLoader",
    "langchain_community.document_loaders.UnstructuredMarkdownLoader": "hocket.document_loaders.MarkdownLoader",
    "langchain_deepseek.ChatDeepSeek": "hocket.providers.openai.compatible.deepseek",
    "langchain_fireworks.ChatFireworks": "hocket.providers.openai.compatible.fireworks",
    "langchain_groq.ChatGroq": "hocket.providers.openai.compatible.groq",
    "langchain_openai.AzureChatOpenAI": "hocket.providers.openai.compatible.azure",
    "langchain_openai.AzureOpenAI": "hocket.providers.openai.OpenAI",
    "langchain_openai.AzureOpenAIEmbeddings": "hocket.providers.openai.OpenAIEmbeddings",
    "langchain_together.ChatTogether": "hocket.providers.openai.compatible.together",
    "langchain_xai.ChatXAI": "hocket.providers.openai.compatible.xai",
    # What these offer beyond searching is checked by their arguments and methods.
    "langchain.vectorstores.Chroma": "hocket.vectorstores.InMemoryVectorStore",
    "langchain.vectorstores.FAISS": "hocket.vectorstores.InMemoryVectorStore",
    "langchain_chroma.Chroma": "hocket.vectorstores.InMemoryVectorStore",
    "langchain_community.vectorstores.Chroma": "hocket.vectorstores.InMemoryVectorStore",
    "langchain_community.vectorstores.DocArrayInMemorySearch": "hocket.vectorstores.InMemoryVectorStore",
    "langchain_community.vectorstores.FAISS": "hocket.vectorstores.InMemoryVectorStore",
}
"""LangChain's module and name → hocket's place, where the rooms do not have it under its own name."""

KEPT_NAMES: Mapping[str, str] = {
    "langchain_chroma.Chroma": "hocket.vectorstores.SQLiteVectorStore",
    "langchain.vectorstores.Chroma": "hocket.vectorstores.SQLiteVectorStore",
    "langchain_community.vectorstores.Chroma": "hocket.vectorstores.SQLiteVectorStore",
}
"""The same for programs that name a ``persist_directory``."""

_STORE = "in memory, and exact; scores are similarities, where higher is nearer"
_FILE_STORE = "its persist_directory is a file of SQLite's now, filled anew"
NOTES: Mapping[str, str] = {
    "hocket.agents.create_agent": "result['messages'] works as before; a stream gives events, and a tool that raises is "
    "told to the model: see docs/agents.md",
    "hocket.classic.agents.AgentExecutor": "a tool that raises is told to the model, and a stream has the result alone",
    "hocket.chat_history.open_history": "its tables are its own: what LangChain stored is not read",
    "hocket.prompts.hub": "nothing is fetched: its prompts are texts of hocket's, with the same variables",
    "hocket.providers.openai.compatible.azure": "a function now: classes are compared with hocket.ChatOpenAI",
    "hocket.vectorstores.InMemoryVectorStore": _STORE,
    "hocket.vectorstores.SQLiteVectorStore": _FILE_STORE,
    "pydantic.BaseModel": "pydantic's second version: validators are written another way",
}
"""hocket's place → what to look at in a program where a name of another package than langchain_core has moved there."""

MODULES: Mapping[str, str] = {
    "langchain.schema": "hocket.messages",
    "langchain.text_splitter": "hocket.text_splitters",
    "langchain_text_splitters": "hocket.text_splitters",
    "langchain_anthropic": "hocket.providers.anthropic",
    "langchain_cohere": "hocket.providers.cohere",
    "langchain_google_genai": "hocket.providers.google",
    "langchain_mistralai": "hocket.providers.mistral",
    "langchain_ollama": "hocket.providers.ollama",
    "langchain_openai": "hocket.providers.openai",
}
"""Modules that stand for a room of another name."""
