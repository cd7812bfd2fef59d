"""Cases of names that stand beside the rooms of `tests.langchain.cases`: what they are called with, and what is set up."""

# ruff: noqa: E501  # an expression stands in one line

from collections.abc import Mapping, Sequence

__all__ = ["ELSEWHERE", "NAME_CASES", "NAME_ROOMS", "NAME_SETUP"]

NAME_ROOMS = ("callbacks", "cross_encoders", "document_loaders", "documents", "tracers", "load")
"""Rooms of either package."""

ELSEWHERE = {
    "langchain_core": (
        "documents.base",
        "prompts.string",
        "runnables.base",
        "tools.retriever",
        "utils.pydantic",
        "language_models",
        "load.serializable",
        "messages.block_translators.openai",
        "prompts.chat",
        "prompts.loading",
        "runnables.config",
        "runnables.schema",
        "tracers.root_listeners",
        "utils.env",
        "utils.utils",
    ),
    "hocket": ("remote", "vectorstores"),
}
"""Where each package has them, too."""

NAME_SETUP = """
import contextvars as _contextvars, json as _json, os as _os, tempfile as _tempfile
from pydantic import BaseModel, ConfigDict, Field, SecretStr
_folder = _tempfile.mkdtemp()
def at(name, text=None):
    path = _os.path.join(_folder, name)
    if text is not None:
        with open(path, 'wb') as file:
            file.write(text)
    return path
class Words(BaseBlobParser):
    def lazy_parse(self, blob):
        for word in blob.as_string().split():
            yield Document(page_content=word, metadata={'source': blob.source})
class Two(BlobLoader):
    def yield_blobs(self):
        yield Blob.from_data('a b')
        yield Blob.from_data('c', path='p')
spot = _contextvars.ContextVar('spot', default='none')
def in_threads(texts, config=None):
    spot.set('set')
    with get_executor_for_config(config) as executor:
        return list(executor.map(lambda text: text + spot.get(), texts)), executor.submit(spot.get).result()
def listened(runnable, given, **kept):
    told = []
    tracer = RootListenersTracer(
        config={'tags': ['t']},
        on_start=lambda run: told.append(('start', run.name, len(run.child_runs))),
        on_end=lambda run, config: told.append(('end', run.name, config['tags'])),
        on_error=lambda run: told.append(('error', run.name)),
    )
    try:
        runnable.invoke(given, {'callbacks': [tracer], 'run_name': 'first'})
    except ValueError:
        pass
    return told
class ToolWords(ToolManagerMixin):
    def on_tool_end(self, output, **kwargs): self.heard.append('end')
    def on_tool_error(self, error, **kwargs): self.heard.append('error')
class Hearing(ToolWords, BaseCallbackHandler):
    def __init__(self): self.heard = []
def heard_of(one, given):
    handler = Hearing()
    try:
        one.invoke(given, {'callbacks': [handler]})
    except Exception:
        pass
    return handler.heard
def kept_prompt(prompt, name, **values):
    prompt.save(at(name))
    return load_prompt(at(name)).format(**values)
def with_variable(value, do):
    _os.environ['HOCKET_CASE'] = value
    try:
        return do()
    finally:
        del _os.environ['HOCKET_CASE']
few = FewShotPromptTemplate(examples=[{'q': '1'}, {'q': '2'}], example_prompt=T('Q {q}'), prefix='P', suffix='S {z}', input_variables=['z'])
class Loud(BaseStringMessagePromptTemplate):
    def format(self, **kwargs): return HumanMessage(self.prompt.format(**kwargs).upper())
class Lengths(BaseCrossEncoder):
    def score(self, text_pairs): return [float(len(b)) for a, b in text_pairs]
class Found(BaseRetriever):
    def _get_relevant_documents(self, query, *, run_manager): return [Document(page_content=query)]
search = create_retriever_tool(Found(), 'search', 'Searches.')
def made_of(**fields):
    class Made(BaseModel):
        a: str = 'default'
        b: list = Field(default_factory=list)
        c: int
        d: str = Field(default='d', alias='dd')
        model_config = ConfigDict(populate_by_name=True)
        @pre_init
        def look(cls, values):
            seen = dict(values)
            values['a'] = values['a'] + '!'
            values['b'] = [sorted(seen.items(), key=str)]
            return values
    return Made(**fields).model_dump()
async def events_of(runnable, given): return [sorted(event) for event in [one async for one in runnable.astream_events(given, version='v2')]]
picture, scan, sound = {'type': 'image', 'base64': 'aGk=', 'mime_type': 'image/png'}, {'type': 'file', 'base64': 'aGk=', 'mime_type': 'application/pdf', 'filename': 'a.pdf'}, {'type': 'audio', 'base64': 'aGk=', 'mime_type': 'audio/wav'}
"""

_BLOCKS = [
    "{'type': 'image', 'url': 'https://u/x.png'}",
    "picture",
    "{'type': 'image', 'source_type': 'url', 'url': 'https://u'}",
    "{'type': 'image', 'source_type': 'base64', 'data': 'aGk=', 'mime_type': 'image/png'}",
    "{'type': 'image', 'base64': 'aGk='}",
    "scan",
    "{**scan, 'filename': None, 'extras': {'filename': 'b.pdf'}}",
    "{'type': 'file', 'file_id': 'f'}",
    "{'type': 'file', 'source_type': 'id', 'id': 'f'}",
    "{'type': 'file'}",
    "{'type': 'text', 'text': 'x'}",
    "{'type': 'video', 'url': 'https://u'}",
]
_OPENAI_BLOCKS = [
    "{'type': 'image_url', 'image_url': {'url': 'https://u', 'detail': 'low'}}",
    "{'type': 'image_url', 'image_url': {}}",
    "{'type': 'input_audio', 'input_audio': {'data': 'aGk=', 'format': 'wav'}}",
    "{'type': 'input_audio', 'input_audio': {'data': 'aGk='}}",
    "{'type': 'file', 'file': {'file_data': 'data:application/pdf;base64,aGk='}}",
    "{'type': 'file', 'file': {'file_id': 'f'}}",
    "{'type': 'file', 'file': {}}",
    "{'type': 'text', 'text': 'x'}",
    "{}",
    "picture",
]

NAME_CASES: Mapping[str, Sequence[str]] = {
    "blobs": [
        "Blob.from_data('ä').as_bytes()",
        "Blob.from_data('ä', encoding='latin-1').as_bytes()",
        "Blob.from_data('ä'.encode()).as_string()",
        "Blob.from_data(b'a\\r\\nb').as_string()",
        "Blob.from_data(b'\\xff').as_string()",
        "Blob.from_data('a', path='p').source",
        "Blob.from_data('a', path='p', metadata={'source': 's'}).source",
        "Blob.from_data('a').source",
        "Blob.from_data('a', mime_type='text/html').mimetype",
        "Blob.from_data('a', metadata={'k': 1}).metadata",
        "Blob()",
        "Blob(data='a', id=3).id",
        "Blob.from_path('no/such.html').mimetype",
        "Blob.from_path('no/such.html', guess_type=False).mimetype",
        "Blob.from_path('no/such.html', mime_type='a/b').mimetype",
        "Blob.from_path('no/such.html').source",
        "Blob.from_path(at('a.txt', b'x\\r\\n\\xc3\\xa4')).as_string()",
        "Blob.from_path(at('a.txt', b'x\\r\\n\\xc3\\xa4')).as_bytes()",
        "Blob.from_path(at('l.txt', b'\\xe4'), encoding='latin-1').as_string()",
        "(lambda blob: blob.as_bytes_io().__enter__().read())(Blob.from_path(at('a.txt', b'xy')))",
        "(lambda blob: blob.as_bytes_io().__enter__().read())(Blob.from_data(b'xy'))",
        "setattr(Blob.from_data('a'), 'data', 'b')",
        "Blob.from_data('a') == Blob.from_data('a')",
        "repr(Blob.from_data('a', path='p')).split()[2:]",
        "isinstance(Blob.from_data('a'), BaseMedia) and isinstance(Document(page_content='a'), BaseMedia)",
        "Words().parse(Blob.from_data('a b', path='p'))",
        "[one for blob in Two().yield_blobs() for one in Words().lazy_parse(blob)]",
        "BaseBlobParser()",
        "BlobLoader()",
        "repr(Document(page_content='a', id='1', metadata={'k': 1}))",
    ],
    "saved prompts": [
        *[f"kept_prompt(T('a {{x}} ä'), 'p.{kind}', x=1)" for kind in ("json", "yaml", "yml", "txt")],
        *[f"kept_prompt(few, 'f.{kind}', z=3)" for kind in ("json", "yaml")],
        "kept_prompt(T('a {x}'), 'below/it/p.json', x=1)",
        "kept_prompt(T('a {x} {y}').partial(y='b'), 'p.json', x=1)",
        "kept_prompt(T('a {x} {{y}}'), 'p.json', x=1)",
        "load_prompt_from_config({'template': 'a {x}', 'input_variables': ['x']}).format(x=1)",
        "load_prompt_from_config({'_type': 'prompt', 'template': 'a {x}', 'input_variables': ['x'], 'output_parser': None}).format(x=1)",
        "load_prompt_from_config({'_type': 'tree', 'template': 'a'})",
        "load_prompt_from_config({'template': 'a {{ x }}', 'template_format': 'jinja2', 'input_variables': ['x']})",
        "load_prompt_from_config({'template_path': at('t.txt', b'a {x}'), 'input_variables': ['x']})",
        "load_prompt_from_config({'template_path': '../t.txt', 'input_variables': ['x']})",
        "load_prompt_from_config({'template_path': at('t.txt', b'a {x}'), 'input_variables': ['x']}, allow_dangerous_paths=True).format(x=1)",
        "load_prompt_from_config({'template_path': at('t.md', b'a {x}'), 'input_variables': ['x']}, allow_dangerous_paths=True)",
        "load_prompt_from_config({'template_path': at('t.txt', b'a'), 'template': 'b', 'input_variables': []}, allow_dangerous_paths=True)",
        "load_prompt_from_config({'_type': 'few_shot', 'examples': at('e.json', b'[{\"q\": 1}]'), 'example_prompt': {'_type': 'prompt', 'template': 'Q {q}', 'input_variables': ['q']}, 'suffix': 'S', 'input_variables': []}, allow_dangerous_paths=True).format()",
        "load_prompt_from_config({'_type': 'few_shot', 'examples': at('e.yaml', b'- q: 1'), 'example_prompt_path': at('q.json', b'{\"_type\": \"prompt\", \"template\": \"Q {q}\", \"input_variables\": [\"q\"]}'), 'suffix': 'S', 'input_variables': []}, allow_dangerous_paths=True).format()",
        "load_prompt_from_config({'_type': 'few_shot', 'examples': '/e.json', 'example_prompt': {'_type': 'prompt', 'template': 'Q {q}', 'input_variables': ['q']}, 'suffix': 'S', 'input_variables': []})",
        "load_prompt_from_config({'_type': 'few_shot', 'examples': 3, 'example_prompt': {'_type': 'prompt', 'template': 'Q {q}', 'input_variables': ['q']}, 'suffix': 'S', 'input_variables': []})",
        "load_prompt(at('l.json', 'ä'.join(['{\"template\": \"', '\", \"input_variables\": []}']).encode('latin-1')), 'latin-1').format()",
        "load_prompt(at('p.txt', b'a'))",
        "load_prompt('no/such.json')",
        "Loud.from_template('a {x}').format(x='b')",
        "Loud.from_template('a {x}').input_variables",
        "P([Loud.from_template('a {x}'), ('ai', 'c')]).format_messages(x='b')",
        "Loud.from_template('a {x}', partial_variables={'x': 'b'}).format_messages()",
        "BaseStringMessagePromptTemplate.from_template('a')",
    ],
    "OpenAI's blocks": [
        *[f"convert_to_openai_data_block({block})" for block in _BLOCKS],
        *[f"convert_to_openai_data_block({block}, api='responses')" for block in _BLOCKS],
        "convert_to_openai_data_block({'type': 'file', 'url': 'https://u'}, api='responses')",
        "convert_to_openai_data_block({'type': 'file', 'base64': 'aGk=', 'mime_type': 'application/pdf'})",
        "convert_to_openai_data_block(sound)",
        "convert_to_openai_data_block({'type': 'image', 'url': 'https://u', 'detail': 'low'})",
        *[f"convert_to_openai_image_block({block})" for block in _BLOCKS[:5]],
        *[f"is_openai_data_block({block})" for block in _OPENAI_BLOCKS],
        *[f"is_openai_data_block({_OPENAI_BLOCKS[0]}, '{kind}')" for kind in ("image", "audio", "file")],
    ],
    "runs": [
        "in_threads(['a', 'b'])",
        "Lengths().score([('q', 'abc'), ('q', 'a')])",
        "BaseCrossEncoder()",
        "search.args_schema is RetrieverInput",
        "search.invoke({'query': 'x'})",
        "search.invoke('x')",
        "search.invoke({})",
        "list(RetrieverInput.model_fields)",
        "in_threads(['a', 'b', 'c'], {'max_concurrency': 1})",
        "in_threads([])",
        "listened(plus, 1)",
        "listened(plus | plus, 1)",
        "listened(lam(boom), 1)",
        "heard_of(add_tool, {'a': 1})",
        "heard_of(fail_tool, {'x': 1})",
        "[name for mixin in (LLMManagerMixin, ChainManagerMixin, ToolManagerMixin, RetrieverManagerMixin, CallbackManagerMixin, RunManagerMixin) for name in sorted(vars(mixin)) if name.startswith('on_')]",
        "all(issubclass(BaseCallbackHandler, mixin) for mixin in (LLMManagerMixin, ChainManagerMixin, ToolManagerMixin, RetrieverManagerMixin, CallbackManagerMixin, RunManagerMixin))",
        "asyncio.run(events_of(plus, 1)) == [sorted(StandardStreamEvent.__annotations__)] * 3",
        "sorted(CustomStreamEvent.__annotations__)",
        "sorted(EventData.__annotations__)",
        "sorted(dumpd(SystemMessage('a'))) == sorted(['lc', 'type', 'id', 'kwargs'])",
        "sorted(SerializedConstructor.__annotations__)",
        "sorted(SerializedNotImplemented.__annotations__)",
        "sorted(SerializedSecret.__annotations__)",
    ],
    "environment": [
        "with_variable('x', from_env('HOCKET_CASE'))",
        "with_variable('', from_env('HOCKET_CASE', default='d'))",
        "with_variable('x', from_env(['HOCKET_NONE', 'HOCKET_CASE']))",
        "from_env('HOCKET_NONE', default='d')()",
        "from_env('HOCKET_NONE', default=None)()",
        "from_env('HOCKET_NONE')()",
        "from_env('HOCKET_NONE', error_message='set it')()",
        "with_variable('x', secret_from_env('HOCKET_CASE')).get_secret_value()",
        "str(with_variable('x', secret_from_env('HOCKET_CASE')))",
        "secret_from_env('HOCKET_NONE', default='d')().get_secret_value()",
        "secret_from_env('HOCKET_NONE', default=None)()",
        "secret_from_env('HOCKET_NONE')()",
        "with_variable('x', lambda: get_from_env('key', 'HOCKET_CASE'))",
        "with_variable('', lambda: get_from_env('key', 'HOCKET_CASE', 'd'))",
        "with_variable('', lambda: get_from_env('key', 'HOCKET_CASE'))",
        "get_from_env('key', 'HOCKET_NONE', '')",
        "made_of(c=1)",
        "made_of(c=1, a=None)",
        "made_of(c=1, a='x', b=[2])",
        "made_of(c=1, dd='x')",
        "made_of(c=1, d='x')",
        "made_of()",
        "with_variable('x', lambda: get_from_dict_or_env({'key': 3}, 'key', 'HOCKET_CASE'))",
        "with_variable('x', lambda: get_from_dict_or_env({'key': ''}, 'key', 'HOCKET_CASE'))",
        "get_from_dict_or_env({'b': 'v'}, ['a', 'b'], 'HOCKET_NONE')",
        "get_from_dict_or_env({}, ['a', 'b'], 'HOCKET_NONE')",
        "get_from_dict_or_env({}, 'a', 'HOCKET_NONE', default='d')",
        "convert_to_secret_str('x').get_secret_value()",
        "str(convert_to_secret_str(SecretStr('x')))",
    ],
}
