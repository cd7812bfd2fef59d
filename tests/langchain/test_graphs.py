"""Chains say of themselves what LangChain's say: schemas of what goes in and comes out, and their graphs."""

import json
from typing import Any

import pytest

from tests.langchain.graphs import FILE, describe, make_chains

SAID: dict[str, Any] = json.loads(FILE.read_text())
CHAINS = make_chains("hocket")

# What is told otherwise: "chain part": why.
DIFFERENT = {
    "assign output": "the title names what it is of: RunnableAssign",
    "map input": "a list that has to be given has no default null",
}


@pytest.mark.parametrize("name", SAID)
def test_a_chain_says_what_langchains_says(name: str) -> None:
    found = describe(CHAINS[name])
    unlike = {part for part, said in SAID[name].items() if said != found[part]}
    assert unlike == {part for part in SAID[name] if f"{name} {part}" in DIFFERENT}
