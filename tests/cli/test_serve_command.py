"""`hocket serve`: what it refuses, and that it serves; more in `tests/serving`."""

import http.server
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from hocket.ledger import SQLiteLedger
from tests.kit import warm

Run = Callable[..., subprocess.CompletedProcess[str]]

KEY = "a-key-of-a-client"
QUESTION = {"model": "fake:Hello.", "messages": [{"role": "user", "content": "hi"}]}


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        ([], 2, "there is nothing to serve: name a MODEL, --agent, --litellm or --embeddings"),
        (["fake:Hello.", "--budget", "5"], 2, "'5' is no budget; write USD/day or USD/month"),
        (["fake:Hello.", "--budget", "much/day"], 2, "--budget is 'much'; it is an amount"),
        (["fake:Hello.", "--budget", "5/day"], 2, "held back: serve a model whose price is known"),
        (["fake:Hello.", "--cors", "app.example"], 2, "it has origins as browsers say them"),
        (["fake:Hello.", "--cors", "*"], 2, "there are no keys"),
        (["a=fake:Hello.", "--agent", "a=json:dumps"], 2, "two models are called 'a'"),
        (["--agent", "a=json:dumps"], 2, "models['a'] is function"),
        (["--agent", "a=no_such_module:x"], 2, "there is no module 'no_such_module'"),
        (["--agent", "json:dumps"], 2, "models['json:dumps'] is function"),
        (["fake:Hello.", "--host", "0.0.0.0"], 2, "--host 0.0.0.0 lets other machines in"),
        (["fake:Hello.", "--host", "::"], 2, "give --key-file FILE"),
        (["fake:Hello.", "--host", "example.org"], 2, "give --key-file FILE"),
        (["fake:Hello.", "--cache", "mysql://me:s3cret@host/x"], 2, "'mysql://host/x' is no address of a cache"),
        (["fake:Hello.", "--port", "65536"], 2, "'65536' is no port"),
        (["fake:Hello.", "--port", "-1"], 2, "port"),
        (["fake:Hello.", "--max-concurrency", "0"], 2, "no whole number of 1 or more"),
        (["fake:Hello.", "--key-file", "nowhere"], 2, "--key-file nowhere: No such file"),
        (["fake:Hello.", "--key-file", "."], 2, "--key-file .: Is a directory"),
        (["fake:Hello.", "--key-file", "/dev/null"], 2, "/dev/null has no key"),
        (["a=fake:Hello.", "a=fake:Bye."], 2, "two models are called 'a'"),
        (["a="], 2, "'a=' is neither MODEL nor NAME=MODEL"),
        (["=fake:Hello."], 2, "'=fake:Hello.' is neither MODEL nor NAME=MODEL"),
        (["opnai:gpt-5.2"], 4, "did you mean openai?"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else str(value)[:20],
)
def test_what_is_refused(
    arguments: list[str], code: int, says: str, inside: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    """In one line, before anything is served."""
    try:
        returned, stdout, stderr = inside("serve", *arguments)
    except SystemExit as exit:  # by the parser
        returned, (stdout, stderr) = exit.code, capsys.readouterr()
    assert (returned, stdout) == (code, "")
    assert says in stderr.splitlines()[-1]


def test_a_key_that_will_not_do_is_not_repeated(tmp_path: Path, inside: Any) -> None:
    (tmp_path / "keys").write_text("s3cret\n")
    done = inside("serve", "fake:Hello.", "--key-file", str(tmp_path / "keys"))
    assert done.returncode == 2 and "8 printable" in done.stderr and "s3cret" not in done.stderr


def test_a_port_that_is_taken(hocket: Run) -> None:
    """Is an error as any other."""
    import socket

    with socket.create_server(("127.0.0.1", 0)) as listener:
        done = hocket("serve", "fake:Hello.", "--port", str(listener.getsockname()[1]))
    assert done.returncode == 1 and "Address already in use" in done.stderr


class Served:
    """The command, serving at ``url``."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        assert process.stderr is not None
        self.process = process
        self.first = self.said = process.stderr.readline()
        while self.said and "/v1" not in self.said:  # what is noted before
            self.said = process.stderr.readline()
        (url,) = re.findall(r"http://\S+/v1", self.said)
        self.url = url.removesuffix("/v1")


@pytest.fixture
def served(environ: dict[str, str]) -> Iterator[Callable[..., Served]]:
    """Start `hocket serve` on a free port."""
    started: list[subprocess.Popen[str]] = []

    def start(*arguments: str, may_be_warm: bool = True) -> Served:
        command = ("-m", "hocket", "serve", "--port", "0", *arguments)
        pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        started.append(warm.Program(*command, may_be_warm=may_be_warm, imports="uvicorn", env=environ, **pipes))
        return Served(started[-1])

    yield start
    for process in started:
        process.kill()
        process.communicate()


def test_it_serves_until_ctrl_c(served: Callable[..., Served]) -> None:
    """Several models, by their names; only by this machine's own names, since there is no key."""
    one = served("fake:Hello.", "b=fake:a=b", "--metrics", may_be_warm=False)
    assert one.said == f"hocket: fake:Hello., b at {one.url}/v1; Ctrl-C ends it\n"
    with httpx.Client(base_url=one.url) as client:
        reply = client.post("/v1/chat/completions", json=QUESTION).json()
        assert reply["choices"][0]["message"]["content"] == "Hello."
        reply = client.post("/v1/chat/completions", json={**QUESTION, "model": "b"}).json()
        assert reply["choices"][0]["message"]["content"] == "a=b"
        assert "hocket_requests_total" in client.get("/metrics").text
        for host, status in (("localhost:80", 200), ("[::1]", 200), ("evil.example", 403), ("localhost.evil", 403)):
            assert client.get("/v1/models", headers={"host": host}).status_code == status
    one.process.send_signal(signal.SIGINT)
    assert one.process.wait(30) in (130, -signal.SIGINT)
    assert one.process.stderr is not None and one.process.stderr.read() == ""


def test_with_keys_it_serves_whoever_has_one(served: Callable[..., Served], tmp_path: Path) -> None:
    """By any name, at any address."""
    (tmp_path / "keys").write_text(f"# the team's\n\n{KEY}\nanother-key\n")
    keys = ("--key-file", str(tmp_path / "keys"))
    one = served("fake:Hello.", *keys, "--host", "0.0.0.0", "--max-concurrency", "5", "--page")
    url = one.url.replace("0.0.0.0", "127.0.0.1")
    assert f"a page at {one.url}/page/;" in one.said
    assert "<title>hocket</title>" in httpx.get(f"{url}/page/").text
    assert httpx.get(f"{url}/page/runs.json").status_code == 401
    assert httpx.get(f"{url}/v1/models", headers={"host": "models.example"}).status_code == 401
    for key in (KEY, "another-key"):
        headers = {"host": "models.example", "authorization": f"Bearer {key}"}
        assert httpx.post(f"{url}/v1/chat/completions", json=QUESTION, headers=headers).status_code == 200
    assert httpx.get(f"{url}/metrics", headers=headers).status_code == 404
    assert KEY not in one.said


PROGRAM = """
from hocket import ScriptedChatModel
from hocket.agents import create_agent

helper = create_agent(ScriptedChatModel(script=["I help."] * 3))
"""


def test_an_agent_tenants_and_a_ledger(served: Callable[..., Served], tmp_path: Path, environ: dict[str, str]) -> None:
    """An agent of a program is asked as a model; what a tenant's calls took stands in the ledger under its name."""
    (tmp_path / "my_agents.py").write_text(PROGRAM)
    (tmp_path / "keys").write_text("red a-key-of-red\n# and\nblue a-key-of-blue\n")
    environ["PYTHONPATH"] = str(tmp_path)
    ledger = tmp_path / "usage.sqlite"
    one = served(
        *("fake:Hello.", "--agent", "helper=my_agents:helper", "--key-file", str(tmp_path / "keys")),
        *("--ledger", str(ledger), "--unsupported", "drop", "--cors", "https://app.example"),
    )
    headers = {"authorization": "Bearer a-key-of-red", "origin": "https://app.example"}
    with httpx.Client(base_url=one.url, headers=headers) as client:
        reply = client.post("/v1/chat/completions", json={**QUESTION, "model": "helper", "seed": 1})
        assert reply.json()["choices"][0]["message"]["content"] == "I help."
        assert reply.headers["x-hocket-dropped"] == "seed"
        assert reply.headers["access-control-allow-origin"] == "https://app.example"
        assert client.post("/v1/chat/completions", json=QUESTION).status_code == 200
    one.process.send_signal(signal.SIGINT)
    one.process.wait(30)
    totals = SQLiteLedger(ledger).total(by=("tenant",))
    assert [total.group["tenant"] for total in totals] == ["red"]


def test_a_cache(served: Callable[..., Served], tmp_path: Path) -> None:
    """A second server answers from what the first one has heard, and asks for the rest; the ledger tells them apart."""
    ledger = tmp_path / "usage.sqlite"
    for word in ("hi", "you"):
        one = served("fake:Hello.", "--cache", f"sqlite:///{tmp_path}/answers.db", "--ledger", str(ledger))
        for content in ("hi", word):
            question = {**QUESTION, "messages": [{"role": "user", "content": content}]}
            assert httpx.post(f"{one.url}/v1/chat/completions", json=question).status_code == 200
        one.process.send_signal(signal.SIGINT)
        one.process.wait(30)
    [total] = SQLiteLedger(ledger).total()
    assert (total.calls, total.cached) == (4, 2)


PRICED = """
from hocket import ScriptedChatModel, create_agent
from hocket.prices import Price, set_prices

set_prices({"scripted*": Price("1000", 0)})
helper = create_agent(ScriptedChatModel(script=["I help."]))
"""


def test_a_budget_holds_for_agents(served: Callable[..., Served], tmp_path: Path, environ: dict[str, str]) -> None:
    """Whose models the command did not open."""
    (tmp_path / "priced.py").write_text(PRICED)
    environ["PYTHONPATH"] = str(tmp_path)
    one = served("--agent", "helper=priced:helper", "--budget", "0.000001/day")
    with httpx.Client(base_url=one.url) as client:
        reply = client.post("/v1/chat/completions", json={**QUESTION, "model": "helper"})
        assert (reply.status_code, reply.json()["error"]["code"]) == (429, "insufficient_quota")


def test_metrics_of_tenants_have_a_key(
    served: Callable[..., Served], tmp_path: Path, environ: dict[str, str], inside: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Out of the environment: no key goes on the command line."""
    (tmp_path / "keys").write_text("red a-key-of-red\n")
    command = ("fake:Hello.", "--key-file", str(tmp_path / "keys"), "--metrics")
    monkeypatch.setenv("HOCKET_METRICS_KEY", "")
    done = inside("serve", *command)
    assert done.returncode == 2 and "--metrics shows the numbers of all tenants" in done.stderr
    assert "set HOCKET_METRICS_KEY, a key that opens /metrics alone" in done.stderr
    environ["HOCKET_METRICS_KEY"] = "a-key-of-prometheus"
    url = served(*command).url
    for key, status in (("a-key-of-prometheus", 200), ("a-key-of-red", 401)):
        assert httpx.get(f"{url}/metrics", headers={"authorization": f"Bearer {key}"}).status_code == status


@pytest.mark.parametrize("text", ["red a-key-of-red\nanother-key-of-mine\n", "red a key\n"])
def test_a_key_file_that_is_no_list(text: str, tmp_path: Path, inside: Any) -> None:
    (tmp_path / "keys").write_text(text)
    done = inside("serve", "fake:Hello.", "--key-file", str(tmp_path / "keys"))
    assert done.returncode == 2 and "each line is KEY, or each is NAME KEY" in done.stderr


def test_a_key_file_may_begin_with_a_byte_order_mark(served: Callable[..., Served], tmp_path: Path) -> None:
    """As editors on Windows write it: it is no part of the first name."""
    (tmp_path / "keys").write_text(f"red {KEY}\n", "utf-8-sig")
    one = served("fake:Hello.", "--key-file", str(tmp_path / "keys"), "--ledger", str(tmp_path / "usage.sqlite"))
    httpx.post(f"{one.url}/v1/chat/completions", json=QUESTION, headers={"authorization": f"Bearer {KEY}"})
    one.process.send_signal(signal.SIGTERM)
    one.process.wait(30)
    totals = SQLiteLedger(tmp_path / "usage.sqlite").total(by=("tenant",))
    assert [total.group["tenant"] for total in totals] == ["red"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_signals_end_it(number: int, served: Callable[..., Served]) -> None:
    """As a supervisor does, or a terminal that is closed."""
    one = served("fake:Hello.")
    httpx.get(f"{one.url}/v1/models")  # it handles signals once it serves
    one.process.send_signal(number)
    assert one.process.wait(30) in (143, -signal.SIGTERM)


FAILING = """
from hocket import ScriptedChatModel, Turn
from hocket.agents import create_agent

failing = create_agent(ScriptedChatModel(script=[RuntimeError("boom")]))
slow = create_agent(ScriptedChatModel(script=[Turn(text="one two", pause=600)] * 9))
silent = create_agent(ScriptedChatModel(script=[Turn(text="one", delay=600)] * 9))
"""


@pytest.fixture
def failing(served: Callable[..., Served], tmp_path: Path, environ: dict[str, str]) -> Served:
    (tmp_path / "failing_agents.py").write_text(FAILING)
    environ["PYTHONPATH"] = str(tmp_path)
    names = ("failing", "slow", "silent")
    return served(*(part for name in names for part in ("--agent", f"{name}=failing_agents:{name}")))


def test_its_log_has_times_and_levels(failing: Served) -> None:
    """And the name of the request, by which an operator finds what a client complains of."""
    done = httpx.post(f"{failing.url}/v1/chat/completions", json={**QUESTION, "model": "failing"})
    failing.process.send_signal(signal.SIGTERM)
    _, stderr = failing.process.communicate(timeout=30)
    told = rf"request_id={done.headers['x-request-id']}, model=failing, status=500\)"
    assert re.fullmatch(rf"\d{{4}}-\d\d-\d\d \S+ ERROR hocket\.serving: a request failed: .*boom \({told}\n", stderr)


def test_a_stop_is_told_to_who_is_answered(failing: Served) -> None:
    """In the form of each API, and without a word in the log: streams by their last event, others by a status."""
    url = f"{failing.url}/v1"
    with httpx.Client(timeout=30) as client, ThreadPoolExecutor(8) as threads:
        whole = threads.submit(client.post, f"{url}/chat/completions", json={**QUESTION, "model": "silent"})
        ends: list[Future[str]] = []
        for path in ("chat/completions", "messages"):
            begun = threading.Semaphore(0)
            asked = {**QUESTION, "model": "slow", "stream": True, **({"max_tokens": 9} if path == "messages" else {})}
            ends += [threads.submit(read_stream, client, f"{url}/{path}", asked, begun) for _ in range(3)]
            assert all(begun.acquire(timeout=30) for _ in range(3))
        failing.process.send_signal(signal.SIGTERM)
        told = [end.result().strip().split("\n\n")[-1] for end in ends]
        assert all(one.startswith("data: ") and '"shutting_down"' in one for one in told[:3])
        assert all(one.startswith("event: error") and "this service stops" in one for one in told[3:])
        refused = whole.result()
        assert refused.status_code == 503 and refused.json()["error"]["code"] == "shutting_down"
    assert failing.process.communicate(timeout=30)[1] == ""
    assert failing.process.returncode in (143, -signal.SIGTERM)


def read_stream(client: httpx.Client, url: str, asked: object, begun: threading.Semaphore) -> str:
    text = ""
    with client.stream("POST", url, json=asked) as reply:
        for piece in reply.iter_text():
            if "one" in text + piece and "one" not in text:
                begun.release()
            text += piece
    return text


class Busy(http.server.BaseHTTPRequestHandler):
    """A model's server that wants to be asked later."""

    asked = 0

    def do_POST(self) -> None:
        type(self).asked += 1
        self.send_response(429)
        self.send_header("retry-after", "20")
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *args: object) -> None:
        pass


@pytest.mark.parametrize("option", [("--retry", "1"), ("--timeout", "5")])
def test_a_client_need_not_wait_for_a_busy_server(
    option: tuple[str, str], served: Callable[..., Served], environ: dict[str, str]
) -> None:
    """It is told at once, where the operator wants it so: by one try, or too little time for another."""
    Busy.asked = 0
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Busy) as upstream, ThreadPoolExecutor(1) as thread:
        thread.submit(upstream.serve_forever)
        environ["HOCKET_BASE_URL"] = f"http://127.0.0.1:{upstream.server_port}/v1"
        one = served("m", *option)
        reply = httpx.post(f"{one.url}/v1/chat/completions", json={**QUESTION, "model": "m"}, timeout=15)
        upstream.shutdown()
    assert (reply.status_code, reply.headers["retry-after"], Busy.asked) == (429, "20", 1)


def test_without_uvicorn_the_extra_is_named(inside: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    done = inside("serve", "fake:Hello.")
    assert done.returncode == 1 and "pip install 'hocket[serve]'" in done.stderr


PROXY = """
model_list:
  - {model_name: chat, litellm_params: {model: fake/Hello.}}
  - {model_name: chat, litellm_params: {model: fake/Hello.}}
  - {model_name: broken, litellm_params: {model: openai/m, api_base: "http://127.0.0.1:9/v1", api_key: os.environ/SOME_KEY}}
router_settings: {num_retries: 0, fallbacks: [{broken: [chat]}], model_group_alias: {gpt-4o: broken}}
general_settings: {master_key: sk-1234, database_url: postgresql://x}
litellm_settings: {callbacks: [otel]}
"""


@pytest.fixture
def proxy(tmp_path: Path, environ: dict[str, str]) -> str:
    """A LiteLLM file, with the variable that it reads."""
    environ["SOME_KEY"] = "sk-a-key"
    (tmp_path / "config.yaml").write_text(PROXY)
    (tmp_path / "keys").write_text(f"{KEY}\n")
    return str(tmp_path / "config.yaml")


def test_what_a_litellm_file_has_and_is_not_done_here(
    proxy: str, tmp_path: Path, inside: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Is named at once; its master key as long as no keys of ours stand for it, even where the rest is left out."""
    monkeypatch.setenv("SOME_KEY", "sk-a-key")
    keys = ("--key-file", str(tmp_path / "keys"))
    for arguments, has_keys in (((), False), (("--unsupported", "drop"), False), (keys, True)):
        done = inside("serve", "--litellm", proxy, *arguments)
        assert done.returncode == 2 and "sk-1234" not in done.stderr
        assert "general_settings.database_url" in done.stderr
        assert "litellm_settings.callbacks" in done.stderr
        assert ("master_key (clients' keys are given with `hocket serve --key-file FILE`" in done.stderr) != has_keys
    done = inside("serve", "--litellm", "nowhere.yaml")
    assert done.returncode == 2 and done.stderr == "hocket: nowhere.yaml: No such file or directory\n"


def test_the_groups_of_a_litellm_file_are_served(proxy: str, tmp_path: Path, served: Callable[..., Served]) -> None:
    """By their names and aliases, beside others; fallbacks are asked."""
    keys = ("--key-file", str(tmp_path / "keys"))
    one = served("more=fake:More.", "--litellm", proxy, *keys, "--unsupported", "drop", "--upstream-errors")
    assert "left out of the LiteLLM file: litellm_settings.callbacks; general_settings.database_url" in one.first
    with httpx.Client(base_url=one.url, headers={"authorization": f"Bearer {KEY}"}) as client:
        names = [model["id"] for model in client.get("/v1/models").json()["data"]]
        assert names == ["more", "chat", "broken", "gpt-4o"]
        for name, status in (("chat", 200), ("broken", 200), ("gpt-4o", 503)):
            reply = client.post("/v1/chat/completions", json={**QUESTION, "model": name})
            assert reply.status_code == status, reply.text
