"""Small expressions that both packages can evaluate, with the names of either, and what they come to.

``python -m tests.langchain.cases``, where langchain-core is, writes down what LangChain's come to.
"""

# ruff: noqa: E501  # an expression stands in one line

import asyncio
import importlib
import json
import warnings
from pathlib import Path
from typing import Any

from tests.langchain.events import show
from tests.langchain.name_cases import ELSEWHERE, NAME_CASES, NAME_ROOMS, NAME_SETUP
from tests.langchain.programs import make_names

_HIDDEN = {
    **dict.fromkeys(("set_config_context", "EventData", "StandardStreamEvent", "CustomStreamEvent"), "runnables"),
    **dict.fromkeys(("ContextThreadPoolExecutor", "get_executor_for_config", "coerce_to_runnable"), "runnables"),
    "load_prompt_from_config": "prompts",
    "default_tool_parser": "messages",
}

FILE = Path(__file__).parents[1] / "fixtures" / "langchain" / "cases.json"

SETUP = """
def add(a: int, b: int = 2) -> int:
    'Add two numbers.'
    return a + b
def shout(text: str) -> str:
    'Shout.'
    return text.upper()
def fail(x: int) -> int:
    'Fail.'
    raise ToolException('no')
add_tool, shout_tool, fail_tool = tool(add), tool(shout), tool(fail)
H, A, S = HumanMessage, AIMessage, SystemMessage
C = AIMessageChunk
call = {'name': 'add', 'args': {'a': 1}, 'id': '1', 'type': 'tool_call'}
talk = [S('s'), H('a'), A('b'), H('c'), A('d')]
U = {'input_tokens': 1, 'output_tokens': 2, 'total_tokens': 3}
def chunk(args, name=None, id=None, index=0):
    return C(content='', tool_call_chunks=[{'name': name, 'args': args, 'id': id, 'index': index, 'type': 'tool_call_chunk'}])
lam, par = RunnableLambda, RunnableParallel
plus = lam(lambda x: x + 1)
def model(*texts): return FakeListChatModel(responses=list(texts))
def types(ms): return [m.type for m in ms]
def texts(ms): return [m.content for m in ms]
P, T = ChatPromptTemplate.from_messages, PromptTemplate.from_template
tools_answer = A('', tool_calls=[call, {**call, 'name': 'sub', 'id': '2'}])
def boom(x): raise ValueError('no')
"""

_TEXTS = ["", "a", "a, b,c", "1. a\n2. b", "- a\n- b", '{"a": 1}', '```json\n{"a": [1, 2]}\n```', "[1, 2]", "yes", "ä"]

_INSTRUCTED = [
    "CommaSeparatedListOutputParser",
    "MarkdownListOutputParser",
    "NumberedListOutputParser",
    "JsonOutputParser",
]
_PRINTED = [
    "H('x')",
    "A('x')",
    "A('x', id='1', name='n', tool_calls=[call], usage_metadata=U)",
    "S([{'type': 'text', 'text': 'x'}])",
    "C('x', chunk_position='last')",
    "ToolMessage('x', tool_call_id='1')",
    "ToolMessage('x', tool_call_id='1', status='error', artifact=[1], name='f')",
    "ChatMessage('x', role='judge')",
    "FunctionMessage('x', name='f')",
    "RemoveMessage(id='1')",
    "H('x', additional_kwargs={'a': 1}, note=2)",
]

CASES = {
    "messages": [
        *[f"{written}({one})" for one in _PRINTED for written in ("repr", "str")],
        "f\"{H('x')}\"",
        "A('x', tool_calls=[call]).pretty_repr()",
        "ToolMessage('x', tool_call_id='1', name='f').pretty_repr()",
        *[f"{kind}('x')" for kind in ("H", "A", "S", "C", "HumanMessageChunk", "SystemMessageChunk")],
        "ToolMessage('x', tool_call_id='1')",
        "ToolMessage(3, tool_call_id='1')",
        "ToolMessage(['a', {'type': 'text', 'text': 'b'}], tool_call_id='1').content",
        "ToolMessage('x', tool_call_id=5).tool_call_id",
        "ToolMessage('x', tool_call_id='1', status='error', artifact={'a': 1}).artifact",
        "ChatMessage('x', role='judge').role",
        "FunctionMessage('x', name='f').name",
        "RemoveMessage(id='1').id",
        "H(['a', {'type': 'text', 'text': 'b'}]).text",
        "H([{'type': 'image_url', 'image_url': {'url': 'u'}}]).content",
        "H('x', name='n').name",
        "H('x', id=3).id",
        "A('x', tool_calls=[call]).tool_calls",
        "A('x', usage_metadata=U).usage_metadata",
        "A('', additional_kwargs={'tool_calls': [{'id': '1', 'type': 'function', 'function': {'name': 'f', 'arguments': '{\"a\": 1}'}}]}).tool_calls",
        "A('', additional_kwargs={'tool_calls': [{'id': '1', 'type': 'function', 'function': {'name': 'f', 'arguments': '{'}}]}).tool_calls",
        "A(['a', 'b']).content",
        "C('a') + C('b')",
        "C('a') + C(['b'])",
        "C(['a']) + C('b')",
        "C([{'type': 'text', 'text': 'a', 'index': 0}]) + C([{'type': 'text', 'text': 'b', 'index': 0}])",
        "C('a', id='1') + C('b', id='2')",
        "(C('a', id='1') + C('b')).id",
        "(C('', usage_metadata=U) + C('', usage_metadata=U)).usage_metadata",
        "(C('', response_metadata={'a': {'b': 1}}) + C('', response_metadata={'a': {'c': 2}})).response_metadata",
        "(C('', additional_kwargs={'a': 'x'}) + C('', additional_kwargs={'a': 'y'})).additional_kwargs",
        "(chunk('{\"a\"', 'add', '1') + chunk(': 1}')).tool_calls",
        "(chunk('{\"a\"', 'add', '1') + chunk(': 1}')).tool_call_chunks",
        "(chunk('{\"a\": 1', 'add', '1')).tool_calls",
        "(chunk('{}', 'add', '1', 0) + chunk('{}', 'sub', '2', 1)).tool_calls",
        "message_chunk_to_message(C('a') + C('b'))",
        "type(message_chunk_to_message(HumanMessageChunk('a'))).__name__",
        "HumanMessageChunk('a') + HumanMessageChunk('b')",
        "ToolMessageChunk('a', tool_call_id='1') + ToolMessageChunk('b', tool_call_id='1')",
        "convert_to_messages('x')",
        "convert_to_messages([('human', 'a'), ('ai', 'b'), ('system', 'c')])",
        "convert_to_messages([('user', 'a'), ('assistant', 'b'), ('developer', 'c')])",
        "convert_to_messages([{'role': 'user', 'content': 'a'}, {'role': 'assistant', 'content': 'b'}])",
        "convert_to_messages([{'role': 'tool', 'content': 'a', 'tool_call_id': '1'}])",
        "convert_to_messages([{'type': 'human', 'content': 'a'}])",
        "convert_to_messages([{'role': 'assistant', 'content': '', 'tool_calls': [{'id': '1', 'type': 'function', 'function': {'name': 'f', 'arguments': '{}'}}]}])[0].tool_calls",
        "convert_to_messages(['a', H('b')])",
        "convert_to_messages([('robot', 'a')])",
        "convert_to_messages([3])",
        "get_buffer_string(talk)",
        "get_buffer_string(talk, human_prefix='U', ai_prefix='B')",
        "get_buffer_string([ToolMessage('x', tool_call_id='1'), ChatMessage('y', role='judge')])",
        "get_buffer_string([A('', tool_calls=[call])])",
        "messages_to_dict([H('a')])[0]['type']",
        "messages_from_dict(messages_to_dict(talk))",
        "message_to_dict(H('a'))['data']['content']",
        "filter_messages(talk, include_types=['human'])",
        "filter_messages(talk, include_types=[H, A])",
        "filter_messages(talk, exclude_types=['system'])",
        "filter_messages([H('a', name='x'), H('b', name='y')], include_names=['x'])",
        "filter_messages([H('a', id='1'), H('b', id='2')], exclude_ids=['1'])",
        "filter_messages([A('', tool_calls=[call]), ToolMessage('x', tool_call_id='1')], exclude_tool_calls=True)",
        "filter_messages(include_types=['ai']).invoke(talk)",
        "merge_message_runs([H('a'), H('b'), A('c'), A('d')])",
        "merge_message_runs([H('a'), H(['b'])])",
        "merge_message_runs([H('a'), H('b')], chunk_separator=' ')",
        "merge_message_runs([ToolMessage('a', tool_call_id='1'), ToolMessage('b', tool_call_id='2')])",
        "merge_message_runs([A('a', tool_calls=[call]), A('b')])[0].tool_calls",
        *[
            f"texts(trim_messages(talk, max_tokens={count}, token_counter=len, strategy={strategy!r}{more}))"
            for count in (1, 2, 3, 5)
            for strategy, more in (
                ("last", ""),
                ("first", ""),
                ("last", ", include_system=True"),
                ("last", ", start_on='human'"),
            )
        ],
        "texts(trim_messages(talk, max_tokens=3, token_counter=len, end_on='human'))",
        "count_tokens_approximately([H('a' * 40)])",
        "convert_to_openai_messages(talk)",
        "convert_to_openai_messages([A('', tool_calls=[call]), ToolMessage('x', tool_call_id='1')])",
        "convert_to_openai_messages(H('a'))",
        "convert_to_openai_messages([H('a')], text_format='block')",
        "convert_to_openai_messages([H([{'type': 'text', 'text': 'a'}])])",
        "H('x').content_blocks",
        "A('x', tool_calls=[call]).content_blocks",
        "H([{'type': 'image_url', 'image_url': {'url': 'https://u'}}]).content_blocks",
        "H(content_blocks=[{'type': 'text', 'text': 'a'}]).content",
        "create_text_block('a')['text']",
        "create_image_block(url='https://u')['url']",
        "tool_call(name='f', args={}, id='1')",
        "tool_call_chunk(name='f', args='', id='1', index=0)",
        "invalid_tool_call(name='f', args='', id='1', error='e')",
        "is_data_content_block({'type': 'image', 'url': 'u'})",
        "is_data_content_block({'type': 'text', 'text': 'u'})",
        "H('a') == H('a'), H('a') == A('a'), H('a') == H('b')",
        "H('a').pretty_repr()",
        "A('a', tool_calls=[call]).pretty_repr()",
        "[default_tool_parser([{'id': '1', 'function': {'name': 'f', 'arguments': a}}]) for a in ('{}', '{')][0][0]",
    ],
    "prompts": [
        *[f"T({text!r}).format(a=1, b='x')" for text in ("{a}", "{a} {b}", "{{a}}", "{a:>5}", "{a!r}", "", "{b}{b}")],
        *[f"T({text!r}).input_variables" for text in ("{a}", "{b} {a}", "{{a}}", "", "{a}{a}")],
        "T('{a}').invoke({'a': 1})",
        "T('{a}').invoke('x')",
        "T('{a}').invoke({})",
        "T('{a.b}')",
        "T('{0}')",
        "T('{')",
        "T('{a} {b}').partial(a='x').format(b='y')",
        "T('{a} {b}').partial(a=lambda: 'x').format(b='y')",
        "(T('{a}') + T(' {b}')).format(a=1, b=2)",
        "(T('{a}') + ' {b}').format(a=1, b=2)",
        "T('{{ a }}', template_format='jinja2').format(a=1)",
        "PromptTemplate(template='{a}', input_variables=['a']).format(a=1)",
        "PromptTemplate.from_examples(['{x}', 'y'], 'z {x}', ['x'], prefix='p').format(x=1)",
        "P([('system', 's {a}'), ('human', '{b}')]).format_messages(a=1, b=2)",
        "P([('system', 's {a}'), ('human', '{b}')]).input_variables",
        "P(['{a}', ('ai', 'x'), S('{a}')]).format_messages(a=1)",
        "P([('placeholder', '{h}'), ('human', '{a}')]).format_messages(a=1)",
        "P([('placeholder', '{h}'), ('human', '{a}')]).format_messages(a=1, h=[('ai', 'x')])",
        "P([MessagesPlaceholder('h')]).format_messages(h=talk)",
        "P([MessagesPlaceholder('h', optional=True)]).format_messages()",
        "P([MessagesPlaceholder('h', n_messages=2)]).format_messages(h=talk)",
        "P([MessagesPlaceholder('h')]).format_messages()",
        "P([('human', [{'type': 'text', 'text': '{a}'}, {'type': 'image_url', 'image_url': '{u}'}])]).format_messages(a=1, u='x')[0].content",
        "P([('human', '{a}')]).partial(a=3).format_messages()",
        "(P([('human', '{a}')]) + A('x') + '{b}').format_messages(a=1, b=2)",
        "P([('human', '{a}'), ('ai', 'b')])[1:].format_messages()",
        "len(P([('human', '{a}'), ('ai', 'b')]))",
        "P([('robot', '{a}')])",
        "P([('human', '{a}')]).invoke({'b': 1})",
        "P([('human', '{a}')]).invoke('x').to_string()",
        "ChatPromptTemplate.from_template('{a}').format_messages(a=1)",
        "P([('human', '{a}')]).format(a=1)",
        "HumanMessagePromptTemplate.from_template('{a}').format(a=1)",
        "SystemMessagePromptTemplate.from_template('{a}').format_messages(a=1)",
        "ChatMessagePromptTemplate.from_template('{a}', role='judge').format(a=1).role",
        "FewShotPromptTemplate(examples=[{'q': 1}, {'q': 2}], example_prompt=T('Q{q}'), suffix='S{x}', prefix='P').format(x=3)",
        "FewShotPromptTemplate(examples=[], example_prompt=T('Q{q}'), suffix='S{x}').format(x=3)",
        "FewShotPromptWithTemplates(examples=[{'q': 1}], example_prompt=T('Q{q}'), suffix=T('S{x}'), prefix=T('P')).format(x=3)",
        "FewShotChatMessagePromptTemplate(examples=[{'q': 1}], example_prompt=P([('human', '{q}'), ('ai', '!')])).format_messages()",
        "LengthBasedExampleSelector(examples=[{'q': 'a b'}, {'q': 'c d'}], example_prompt=T('{q}'), max_length=3).select_examples({'x': 'y'})",
        "P([('human', '{a}')]).pretty_repr()",
        "T('{a}').pretty_repr()",
        "get_template_variables('{b}{a}', 'f-string')",
        "check_valid_template('{a}', 'f-string', ['b'])",
        "jinja2_formatter('{{ a }}', a=1)",
        "DictPromptTemplate(template={'a': '{x}', 'b': ['{y}']}, template_format='f-string').format(x=1, y=2)",
    ],
    "parsers": [
        *[f"{kind}().get_format_instructions()" for kind in _INSTRUCTED],
        *[
            f"{parser}().parse({text!r})"
            for text in _TEXTS
            for parser in (
                "StrOutputParser",
                "CommaSeparatedListOutputParser",
                "NumberedListOutputParser",
                "MarkdownListOutputParser",
                "JsonOutputParser",
            )
        ],
        "StrOutputParser().invoke(A('x'))",
        "StrOutputParser().invoke(A([{'type': 'text', 'text': 'x'}]))",
        "StrOutputParser().invoke(3)",
        "JsonOutputParser().invoke(A('{\"a\": null}'))",
        "XMLOutputParser().parse('<a><b>1</b><b>2</b></a>')",
        "XMLOutputParser().parse('<a>1</a>')",
        "XMLOutputParser().parse('no')",
        "JsonOutputToolsParser().invoke(tools_answer)",
        "JsonOutputToolsParser(return_id=True).invoke(tools_answer)",
        "JsonOutputToolsParser(first_tool_only=True).invoke(tools_answer)",
        "JsonOutputToolsParser(first_tool_only=True).invoke(A(''))",
        "JsonOutputKeyToolsParser(key_name='add').invoke(tools_answer)",
        "JsonOutputKeyToolsParser(key_name='add', first_tool_only=True).invoke(tools_answer)",
        "JsonOutputKeyToolsParser(key_name='mul').invoke(tools_answer)",
        "[x for x in StrOutputParser().transform([C('a'), C('b')])]",
        "[x for x in CommaSeparatedListOutputParser().transform(['a, ', 'b'])]",
        "[x for x in JsonOutputParser().transform(['{\"a\": \"x', 'y\"}'])]",
        "CommaSeparatedListOutputParser().parse('\"a, b\", c')",
        "CommaSeparatedListOutputParser().invoke(A('a,b'))",
    ],
    "tools": [
        "convert_to_openai_tool(add_tool)",
        "convert_to_openai_tool(add)",
        "convert_to_openai_tool(add_tool, strict=True)",
        "convert_to_openai_tool({'name': 'f', 'description': 'F.', 'parameters': {'type': 'object', 'properties': {}}})",
        "indented.description",
        "repr(shout_tool).partition(', args_schema')[0]",
        "add_tool.invoke({'a': 1})",
        "add_tool.invoke({'a': 1, 'b': 5})",
        "add_tool.invoke({'a': '3'})",
        "add_tool.invoke({})",
        "add_tool.invoke({'a': 'x'})",
        "add_tool.invoke(call)",
        "add_tool.name, add_tool.description",
        "sorted(add_tool.args)",
        "shout_tool.invoke('x')",
        "shout_tool.invoke({'text': 'x'})",
        "fail_tool.invoke({'x': 1})",
        "tool(fail).invoke({**call, 'name': 'fail', 'args': {'x': 1}})",
        "add_tool.batch([{'a': 1}, {'a': 2}])",
        "tool('other')(add).name",
        "tool(add, return_direct=True).return_direct",
        "StructuredTool.from_function(add).invoke({'a': 1})",
        "StructuredTool.from_function(add, name='n', description='d').description",
        "Tool('t', shout, 'd').invoke('x')",
        "Tool('t', shout, 'd').args",
        "render_text_description([add_tool])",
        "render_text_description([add_tool, shout_tool])",
        "plus.as_tool(arg_types={'x': int}, name='p').name",
        "(lam(add_tool.invoke) | plus).invoke({'a': 1})",
    ],
    "runnables": [
        "plus.invoke(1)",
        "(plus | plus).invoke(1)",
        "plus.batch([1, 2, 3])",
        "list(plus.stream(1))",
        "list((plus | plus).stream(1))",
        "plus.map().invoke([1, 2])",
        "par(a=plus, b=lambda x: x * 2).invoke(3)",
        "(plus | {'a': plus, 'b': plus}).invoke(1)",
        "RunnablePassthrough().invoke(1)",
        "RunnablePassthrough.assign(b=lambda d: d['a'] + 1).invoke({'a': 1})",
        "RunnablePassthrough.assign(b=lambda d: 1).invoke(3)",
        "RunnablePassthrough().pick('a').invoke({'a': 1, 'b': 2})",
        "RunnablePassthrough().pick(['a', 'b']).invoke({'a': 1, 'b': 2, 'c': 3})",
        "RunnableBranch((lambda x: x > 0, lambda x: 'p'), lambda x: 'n').invoke(1)",
        "RunnableBranch((lambda x: x > 0, lambda x: 'p'), lambda x: 'n').invoke(-1)",
        "RouterRunnable({'a': plus, 'b': lam(lambda x: 0)}).invoke({'key': 'a', 'input': 1})",
        "RouterRunnable({'a': plus}).invoke({'key': 'z', 'input': 1})",
        "lam(lambda x: plus).invoke(1)",
        "lam(lambda x: (y for y in [x, x])).invoke('a')",
        "list(lam(lambda x: (y for y in [x, x])).stream('a'))",
        "lam(boom).invoke(1)",
        "lam(boom).with_fallbacks([plus]).invoke(1)",
        "lam(boom).with_fallbacks([lam(boom)]).invoke(1)",
        "lam(boom).with_retry(stop_after_attempt=2, wait_exponential_jitter=False).invoke(1)",
        "[type(x).__name__ for x in lam(lambda x: 1 / x).batch([1, 0], return_exceptions=True)]",
        "lam(lambda x: 1 / x).batch([1, 0])",
        "sorted(plus.batch_as_completed([1, 2]))",
        "lam(lambda x, **kw: kw).bind(a=1).invoke(1)",
        "lam(lambda x, **kw: kw).bind(a=1).bind(b=2).invoke(1, a=3)",
        "lam(lambda x, config: config['tags']).with_config(tags=['a']).invoke(1, {'tags': ['b']})",
        "lam(lambda x, config: config['metadata']).invoke(1, {'metadata': {'a': 1}})",
        "lam(lambda x, config: config['configurable']).invoke(1, {'configurable': {'a': 1}})",
        "lam(3)",
        "plus | 3",
        "plus.get_name(), plus.get_name('x'), (plus | plus).get_name()",
        "par(a=plus, b=plus).get_name()",
        "chain(lambda x: x * 2).invoke(2)",
        "list(RunnableGenerator(lambda it: (x * 2 for x in it)).transform(iter([1, 2])))",
        "AddableDict(a='x') + AddableDict(a='y', b='z')",
        "add_all(['a', 'b'])",
        "list(par(a=plus, b=plus).stream(1))[0].keys() <= {'a', 'b'}",
        "plus.pipe(plus, plus).invoke(0)",
        "(lambda x: x + 1).__ror__ if False else (plus.__ror__(lambda x: x * 10)).invoke(1)",
        "plus.with_types(input_type=int).invoke(1)",
        "plus.input_schema.model_json_schema()['title']",
        "plus.config_specs",
        "model('a').configurable_fields(responses=ConfigurableField(id='r')).invoke('x', {'configurable': {'r': ['b']}}).content",
        "plus.configurable_alternatives(ConfigurableField(id='w'), other=lam(lambda x: 0)).invoke(1, {'configurable': {'w': 'other'}})",
    ],
    "models": [
        "model('a').invoke('x')",
        "model('a').invoke([('human', 'x')])",
        "model('a').invoke([])",
        "model('a').invoke(3)",
        "texts(model('ab').stream('x'))",
        "texts(model('a', 'b').batch(['x', 'y']))",
        "model('a', 'b').generate([[H('x')], [H('y')]]).generations[1][0].text",
        "(P([('human', '{x}')]) | model('a') | StrOutputParser()).invoke({'x': 1})",
        "list((model('ab') | StrOutputParser()).stream('x'))",
        "FakeListLLM(responses=['a']).invoke('x')",
        "FakeListLLM(responses=['a']).invoke([H('x')])",
        "list(FakeStreamingListLLM(responses=['ab']).stream('x'))",
        "FakeMessagesListChatModel(responses=[A('a')]).invoke('x')",
        "texts(GenericFakeChatModel(messages=iter([A('a b')])).stream('x'))",
        "GenericFakeChatModel(messages=iter([A('a b')])).invoke('x')",
        "ParrotFakeChatModel().invoke('x')",
        "FakeChatModel().invoke('x')",
        "model('a').bind_tools([add_tool])",
        "model('a').with_structured_output({'title': 'x', 'type': 'object', 'properties': {}})",
        "model('a').bind(stop=['x']).invoke('x')",
        "model('a').get_num_tokens",
        "(model('1') | lam(lambda m: int(m.content)) | plus).invoke('x')",
        "model('a').with_fallbacks([model('b')]).invoke('x')",
        "model('a').with_config(tags=['t']).invoke('x')",
    ],
    "documents and histories": [
        "Document(page_content='a', metadata={'b': 1})",
        "Document('a') == Document('a')",
        "str(Document('a', metadata={'b': 1}))",
        "Document('a', id=3).id",
        "history([H('a'), A('b')]).messages",
        "history([H('a')]).messages[0].content",
        "cleared([H('a')]).messages",
        "str(history([H('a'), A('b')]))",
        "talked(['a', 'b'])",
        "added(lambda h: h.add_user_message('a'))",
        "added(lambda h: h.add_user_message(H('a', id='1')))",
        "added(lambda h: h.add_ai_message('a'))",
        "added(lambda h: h.add_ai_message(A('a', tool_calls=[call])))",
        "added(lambda h: h.add_message(S('a')))",
        "added(lambda h: h.add_messages([]))",
        "added(lambda h: h.add_messages((H('a'), A('b'))))",
        "added(lambda h: (h.add_message(H('a')), h.clear(), h.add_message(H('b'))))",
        "added(lambda h: asyncio.run(h.aadd_messages([H('a'), A('b')])))",
        "asyncio.run(history([H('a')]).aget_messages())",
        "added(lambda h: (h.add_message(H('a')), asyncio.run(h.aclear())))",
        "str(history([S('s'), H('a'), A('b'), ToolMessage('r', tool_call_id='1')]))",
        "str(history([]))",
        "kept_by(echo, ['a'])",
        "kept_by(echo, [H('a')])",
        "kept_by(echo, [[H('a')]])",
        "kept_by(echo, [[S('s'), H('a')], 'b'])",
        "kept_by(lam(lambda ms: 'said'), ['a', 'b'])",
        "kept_by(lam(lambda ms: [A('1'), A('2')]), ['a'])",
        "kept_by(lam(lambda d: {'out': A('1')}), [{'x': 'a'}], input_messages_key='x', output_messages_key='out')",
        "kept_by(lam(lambda d: {'out': '1'}), [{'x': 'a'}], input_messages_key='x', output_messages_key='out')",
        "kept_by(lam(lambda d: {'output': A('1')}), [{'x': H('a')}], input_messages_key='x')",
        "kept_by(counted, [{'x': 'a'}, {'x': 'b'}], input_messages_key='x', history_messages_key='h')",
        "kept_by(counted, [{'x': [H('a'), H('b')]}], input_messages_key='x', history_messages_key='h')",
        "kept_by(lam(boom), ['a'])",
        "spoken(echo, ['a', 'b'])",
        "spoken(counted, [{'x': 'a'}, {'x': 'b'}], input_messages_key='x', history_messages_key='h')",
        "with_history(echo).invoke('a')",
        "with_history(echo).invoke('a', {'configurable': {'other': 's'}})",
        "[one.content for one in with_history(echo).stream('a', {'configurable': {'session_id': 's'}})]",
        "with_history(echo).batch(['a', 'b'], [{'configurable': {'session_id': s}} for s in 'st'])",
        "asyncio.run(with_history(echo).ainvoke('a', {'configurable': {'session_id': 's'}}))",
        "by_two(echo).invoke('a', {'configurable': {'user': 'u', 'talk': 't'}})",
        "by_two(echo).invoke('a', {'configurable': {'user': 'u'}})",
        "RunnableWithMessageHistory(echo, lambda session_id: history([H('q'), A('p')])).invoke('a', {'configurable': {'session_id': 's'}})",
    ],
}

HISTORY = """
def history(messages):
    made = InMemoryChatMessageHistory()
    made.add_messages(messages)
    return made
def cleared(messages):
    made = history(messages)
    made.clear()
    return made
def talked(texts):
    kept = {}
    def find(session_id): return kept.setdefault(session_id, InMemoryChatMessageHistory())
    chain = RunnableWithMessageHistory(P([('placeholder', '{h}'), ('human', '{x}')]) | model('1', '2'), find, input_messages_key='x', history_messages_key='h')
    for text in texts:
        chain.invoke({'x': text}, {'configurable': {'session_id': 's'}})
    return kept['s'].messages
def added(do):
    made = InMemoryChatMessageHistory()
    do(made)
    return made.messages
kept = {}
def find(session_id): return kept.setdefault(session_id, InMemoryChatMessageHistory())
def with_history(chain, **keys):
    kept.clear()
    return RunnableWithMessageHistory(chain, find, **keys)
def spoken(chain, inputs, **keys):
    kept_chain = with_history(chain, **keys)
    return [kept_chain.invoke(one, {'configurable': {'session_id': 's'}}) for one in inputs]
def kept_by(chain, inputs, **keys):
    spoken(chain, inputs, **keys)
    return kept['s'].messages
def by_two(chain):
    fields = [ConfigurableFieldSpec(id=name, annotation=str, default='') for name in ('user', 'talk')]
    return RunnableWithMessageHistory(chain, lambda user, talk: history([H(user + talk)]), history_factory_config=fields)
echo = lam(lambda ms: A(f'{len(ms)}: {ms[-1].content}'))
counted = lam(lambda d: A(str(len(d['h']))))
@tool
def indented(x: int) -> int:
    '''Add.

        More of it.
    '''
    return x
def add_all(pieces): return add_pieces(pieces)
"""


def evaluate(package: str) -> dict[str, Any]:
    """Return what each expression comes to, with the names of a package."""
    names = {**vars(make_names(package))}
    elsewhere = (
        "messages.content",
        "messages.tool",
        "messages.utils",
        "utils.function_calling",
        "example_selectors",
        "language_models.fake_chat_models",
    )
    own = elsewhere if package == "langchain_core" else ()
    for room in ("tools", "chat_history", *own, *NAME_ROOMS, *ELSEWHERE[package]):
        module = importlib.import_module(f"{package}.{room}")
        more = {name: getattr(module, name) for name in [*vars(module), *getattr(module, "__all__", ())]}
        names = {**more, **names}
    home = "runnables.history" if package == "langchain_core" else "runnables"
    names["RunnableWithMessageHistory"] = importlib.import_module(f"{package}.{home}").RunnableWithMessageHistory
    if package == "hocket":  # rooms load these, and do not show them
        names |= {name: getattr(importlib.import_module(f"hocket.{room}"), name) for name, room in _HIDDEN.items()}
    names["asyncio"] = asyncio
    names["add_pieces"] = names["add"]
    found: dict[str, Any] = {}
    exec(SETUP + HISTORY + NAME_SETUP, names)
    for room, cases in {**CASES, **NAME_CASES}.items():
        for case in cases:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    found[f"{room}: {case}"] = show(eval(case, names))
                except Exception as error:
                    found[f"{room}: {case}"] = {"raised": _family(error)}
    return json.loads(json.dumps(found, default=repr))  # tuples are lists


def _family(error: Exception) -> str:
    """Return what kind of error it is, as a program would catch it: the packages have classes of their own."""
    kinds = (NotImplementedError, RecursionError, AttributeError, KeyError, TypeError, ZeroDivisionError, ValueError)
    return next((kind.__name__ for kind in kinds if isinstance(error, kind)), "another error")


if __name__ == "__main__":
    FILE.write_text(json.dumps(evaluate("langchain_core"), indent=0, ensure_ascii=False) + "\n")
