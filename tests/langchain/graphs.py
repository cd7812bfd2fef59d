"""What chains say of themselves, from the same program with hocket and with LangChain.

``python -m tests.langchain.graphs``, where langchain-core is, writes down what LangChain's say.
"""

import importlib
import json
import operator
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pydantic import BaseModel

FILE = Path(__file__).parents[1] / "fixtures" / "langchain" / "graphs.json"
_UNIONS = ("$defs", "oneOf", "anyOf")  # of messages, whose schemas differ


class City(BaseModel):
    """What a parser reads."""

    name: str


def plus(number: int) -> int:
    """Add one."""
    return number + 1


def make_chains(package: str) -> dict[str, Any]:
    """Return the chains, made of a package's classes."""
    names: dict[str, Any] = {}
    for room in ("runnables", "prompts", "language_models", "output_parsers"):
        module = importlib.import_module(f"{package}.{room}")
        names |= {name: getattr(module, name) for name in module.__all__}
    lambdas, passthrough, parallel = names["RunnableLambda"], names["RunnablePassthrough"], names["RunnableParallel"]
    prompt = names["ChatPromptTemplate"].from_template("{x}")
    model, text = names["FakeListChatModel"](responses=["a"]), names["StrOutputParser"]()
    two = names["PromptTemplate"].from_template("{a} {b}")
    rag = {"context": lambdas(plus), "question": passthrough()} | prompt | model | text
    assign = passthrough.assign(y=lambdas(plus))
    return {
        "prompt": prompt,
        "model": model,
        "text model": names["FakeListLLM"](responses=["a"]),
        "text": text,
        "json": names["JsonOutputParser"](),
        "object": names["PydanticOutputParser"](pydantic_object=City),
        "list": names["CommaSeparatedListOutputParser"](),
        "lambda": lambdas(lambda x: x),
        "function": lambdas(plus),
        "passthrough": passthrough(),
        "sequence": prompt | model | text,
        "functions": lambdas(plus) | lambdas(plus),
        "parallel": parallel(a=prompt, b=lambdas(plus)),
        "objects": parallel(a=two, b=prompt),
        "rag": rag,
        "assign": assign,
        "assign in front": assign | names["PromptTemplate"].from_template("{y} {z}") | model,
        "assign behind": prompt | model | text | {"o": passthrough()} | assign,
        "branch": names["RunnableBranch"]((lambda x: True, lambdas(plus)), lambdas(plus)),
        "binding": model.bind(stop=["a"]),
        "config": (prompt | model).with_config(tags=["t"]),
        "retry": (prompt | model).with_retry(),
        "fallbacks": model.with_fallbacks([model]),
        "map": prompt.map(),
        "types": lambdas(lambda x: x).with_types(input_type=int, output_type=str),
        "pick": passthrough().pick("a"),
        "history": names["ChatPromptTemplate"].from_messages([("system", "s {x}"), ("placeholder", "{h}")]),
        "two": two,
        "partial": two.partial(a="x"),
        "nested": parallel(a=prompt | model, b=prompt | model | text),
        "keys": lambdas(operator.itemgetter("q")) | prompt | model,
    }


def describe(chain: Any) -> dict[str, Any]:
    """Return what a chain says of itself, as far as the two packages can say the same."""
    return {
        "input": _simplify(chain.get_input_jsonschema),
        "output": _simplify(chain.get_output_jsonschema),
        "nodes": [node.name for node in chain.get_graph().nodes.values()],
        "mermaid": chain.get_graph().draw_mermaid(),
        "plain": chain.get_graph().draw_mermaid(with_styles=False),
    }


def _simplify(read: Callable[[], dict[str, Any]]) -> Any:
    schema = read()
    fields = schema.pop("properties", {})
    told = {key: value for key, value in schema.items() if key not in _UNIONS}
    return {**told, "fields": {key: one.get("type") for key, one in fields.items()}}


if __name__ == "__main__":
    made = {name: describe(chain) for name, chain in make_chains("langchain_core").items()}
    FILE.write_text(json.dumps(made, indent=1) + "\n")
