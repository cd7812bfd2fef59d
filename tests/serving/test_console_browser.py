"""The page of a gateway in a real browser: what people do with it, and what a model's words cannot do."""

from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import anyio
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount, Route

from hocket import AIMessageChunk, FakeListChatModel, ScriptedChatModel, Turn, create_agent, tool
from hocket.ledger import LedgerEntry, SQLiteLedger
from hocket.prices import Price, set_prices
from hocket.serving import openai_app
from tests.kit import HookCall, hook_model, tool_model
from tests.kit.browser import use_browser
from tests.serving.conftest import KEY

SCRIPT = Path(__file__).with_name("console_browser.mjs")

MARKDOWN = """# Why

Light is **scattered** by the _air_, see `blue`:

- one
  - inner *one*
  - two
- three

3. third
4. fourth

```python
print("<b>")
```

| a | b |
| --- | --- |
| 1 | **2** |

> quoted
> twice

[here](https://example.org/a_b_c) and [there](javascript:alert(3)) and https://example.org/x.

snake_case_name and 2 * 3 * 4
"""
HTML = (
    "<h4>Why</h4>"
    "<p>Light is <strong>scattered</strong> by the <em>air</em>, see <code>blue</code>:</p>"
    "<ul><li>one<ul><li>inner <em>one</em></li><li>two</li></ul></li><li>three</li></ul>"
    '<ol start="3"><li>third</li><li>fourth</li></ol>'
    '<pre tabindex="0" data-language="python"><code>print("&lt;b&gt;")</code></pre>'
    '<div class="wide" tabindex="0"><table><thead><tr><th>a</th><th>b</th></tr></thead>'
    "<tbody><tr><td>1</td><td><strong>2</strong></td></tr></tbody></table></div>"
    "<blockquote><p>quoted\ntwice</p></blockquote>"
    '<p><a href="https://example.org/a_b_c" target="_blank" rel="noopener noreferrer">here</a>'
    '<span class="address"> https://example.org/a_b_c</span> and [there](javascript:alert(3)) and '
    '<a href="https://example.org/x" target="_blank" rel="noopener noreferrer">https://example.org/x</a>.</p>'
    "<p>snake_case_name and 2 * 3 * 4</p>"
)
ATTACK = '<img src=x onerror=alert(1)><script>alert(2)</script> <a href="javascript:alert(3)">here</a>'
ESCAPED = ATTACK.replace("<", "&lt;").replace(">", "&gt;")
WIDE = f"{'w' * 500}\n\n```\n{'long line ' * 50}\n```\n\n| a | b |\n| --- | --- |\n| {'x' * 99} | y |"
USAGE: Any = {"input_tokens": 1000, "output_tokens": 200, "total_tokens": 1200}
FACTS = {"finish_reason": "stop", "model_name": "known-model"}


@tool
def pay(amount: int) -> str:
    """Pay."""
    return f"paid {amount}"


class Bench:
    """A gateway with models of all kinds, and a word by which the slow one goes on."""

    def __init__(self, **options: Any) -> None:
        self.may_go_on = anyio.Event()
        self.was_left = False
        self.slow = hook_model(self._count, "astream")
        models: Any = {
            "one": ScriptedChatModel(script=[Turn(text=MARKDOWN, usage=USAGE, metadata=FACTS)] * 3),
            "other": FakeListChatModel(responses=[ATTACK]),
            "wide": FakeListChatModel(responses=[WIDE]),
            "slow": self.slow,
            "clerk": create_agent(tool_model(self._pay, "astream"), [pay], interrupt_on=["pay"]),
        }
        gateway = openai_app(models, page=True, **options)
        self.app = Starlette(routes=[Route("/go-on", self._go_on), Mount("/", gateway)])

    async def _go_on(self, request: Request) -> Response:
        self.may_go_on.set()
        return Response()

    async def _count(self, call: HookCall) -> AsyncIterator[str]:
        try:
            yield "one two "
            await self.may_go_on.wait()
            yield "three four"
        finally:
            self.was_left = not self.may_go_on.is_set()

    async def _pay(self, call: HookCall) -> AsyncIterator[AIMessageChunk]:
        if call.input[-1].type == "tool":
            yield AIMessageChunk("Done.")
            return
        piece = {"name": "pay", "args": '{"amount": 1}', "id": f"call-{len(call.input)}", "index": 0}
        yield AIMessageChunk("May I?", tool_call_chunks=[{**piece, "type": "tool_call_chunk"}])  # type: ignore[list-item]


def play(address: str, scene: str) -> Any:
    """Have a person do something with the page; return what was seen."""
    seen = use_browser(SCRIPT, address, scene, within=120)
    assert len(seen.pop("hosts")) == 1
    assert [one for one in seen.pop("said") if "401" not in one] == []  # no error, and nothing against the policy
    return seen


Serve = Callable[[Any], str]


def test_models_side_by_side(serve: Serve):
    """Markdown is shown, markup is a text, and under each answer stands what it took."""
    set_prices({"known-model": Price(1, 10)})
    try:
        seen = play(serve(Bench().app), "compares")
    finally:
        set_prices({"known-model": None})
    assert seen["names"] == ["one", "other"]
    assert seen["html"] == [HTML, f"<p>{ESCAPED}</p>"] and seen["images"] == 0
    one, other = seen["facts"]
    assert (one["tokens"], one["cost"]) == ("1,000 → 200", "$0.00300") and one["first word"] <= one["total"]
    assert other["tokens"] == other["cost"] == "\N{EN DASH}"


def test_runs_and_usage(serve: Serve, tmp_path: Path):
    """By keyboard: a tree with its messages, and a plot whose days are told."""
    ledger = SQLiteLedger(str(tmp_path / "usage.sqlite"))
    entry: Any = {"model": "known-model", "input_tokens": 10, "output_tokens": 5, "cost": Decimal("0.25")}
    ledger.book(LedgerEntry(id="1", at=datetime.now(UTC), metadata={"tenant": "acme"}, **entry))
    bench = Bench()
    bench.slow.ledger = ledger
    seen = play(serve(bench.app), "watches")
    said = seen["runs"].replace("\n\n", "\n")
    assert "1,000 → 200" in said and "user\nWhy?" in said and "assistant\n# Why" in said
    assert seen["bars"] == 1 and "acme" in seen["table"] and "$0.25" in seen["table"]
    assert seen["day"].startswith("$0.25 on ")


def test_a_small_screen(serve: Serve, tmp_path: Path):
    """Nothing has to be pushed aside at 360 pixels."""
    bench = Bench()
    bench.slow.ledger = ledger = SQLiteLedger(str(tmp_path / "usage.sqlite"))
    for at in range(12):
        name = f"a-model-of-a-long-name-{at}"
        ledger.book(LedgerEntry(id=name, at=datetime.now(UTC), model=name, input_tokens=10**9, cost=Decimal(at)))
    assert play(serve(bench.app), "narrow") == {"empty": 0, "chat": 0, "runs": 0, "usage": 0}


def test_a_reload_in_the_middle(serve: Serve):
    """The answer goes on, and the model is asked once; afterwards it is there, with what it took."""
    bench = Bench()
    seen = play(serve(bench.app), "reloads")
    assert (seen["half"], seen["whole"]) == (["one two"], ["one two three four"])
    assert seen["again"] == seen["whole"] and set(seen["facts"][0]) == {"first word", "total", "tokens", "cost"}
    assert len(bench.slow.requests) == 1


def test_stop(serve: Serve):
    """Ends the call of the model, and keeps the half."""
    bench = Bench()
    seen = play(serve(bench.app), "stops")
    assert seen == {"texts": ["one two"], "news": "slow: stopped"}
    assert bench.was_left


def test_a_person_decides(serve: Serve):
    """With other arguments, which have to be some; or not at all. A reload asks again."""
    seen = play(serve(Bench().app), "decides")
    assert seen["wrong"].startswith("The arguments are a JSON object")
    [approved] = seen["approved"]
    assert "May I?" in approved and "amount: 2" in approved and "paid 2" in approved and "changed" in approved
    assert "rejected" in seen["rejected"] and "Done." in seen["rejected"] and "paid" not in seen["rejected"]


def test_a_key(serve: Serve):
    """Is asked for, until it is right, and kept as long as the tab is open."""
    seen = play(serve(Bench(keys=KEY).app), "enters")
    assert seen == {"wrong": "This key is not known here.", "texts": 1, "stored": [KEY, 0, ""]}
