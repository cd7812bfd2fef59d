"""One file, given to LiteLLM's own router and to ours: who is asked, in which order, and what reaches the servers.

Each deployment has a key of its own, by which one scripted server knows it, and answers with it. Where ours departs, the
scene says how, and so does docs/routing.md.
"""

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import pytest

from hocket.errors import LLMError
from hocket.routing import ChatRouter, routers_from_litellm
from hocket.routing.choice import choose
from hocket.testing import OpenAIFormat, ReceivedRequest, Reply, Server, Status, serve

if os.environ.get("HOCKET_INTEROP") != "all":
    pytest.skip("scripts/interop runs them", allow_module_level=True)

CHOICES = 2_000


@dataclass
class Scene:
    """A file, what the deployments do, and who was asked in the end; of ours, where that is another order."""

    config: dict[str, Any]
    plan: Mapping[str, tuple[int, Mapping[str, str]]] = field(default_factory=dict[str, Any])
    asked: str = ""
    ours: str | None = None
    model: str = "g"
    calls: int = 1
    choices: int = 0


def write(group: str, key: str, /, **params: Any) -> dict[str, Any]:
    """Return an entry of a model_list, whose server has the place of URL."""
    params = {"model": "openai/m", "api_base": "URL/v1", "api_key": key, **params}
    return {"model_name": group, "litellm_params": params}


def spare(**settings: Any) -> dict[str, Any]:
    """Return a file with a group of two, the second of which is asked where the first is not able."""
    return {"model_list": [write("g", "a", weight=1), write("g", "b", weight=0)], "router_settings": settings}


def four(**settings: Any) -> dict[str, Any]:
    """Return a file with groups of one each: g, h, i, j, whose deployments are a, b, c, d."""
    entries = [write(group, key) for group, key in zip("ghij", "abcd", strict=True)]
    return {"model_list": entries, "router_settings": {"num_retries": 0, **settings}}


def fails(keys: str, status: int = 500, **headers: str) -> dict[str, Any]:
    return {key: (status, {name.replace("_", "-"): value for name, value in headers.items()}) for key in keys}


ORDER = [{"g": ["h", "i"]}, {"h": ["j"]}]
SCENES = {
    "429 with a retry-after": Scene(spare(), fails("a", 429, retry_after="5"), "abbb", calls=3),
    "401": Scene(spare(), fails("a", 401), "abbb", calls=3),
    # Theirs asks the same one again and again, and never the spare one before the first rests.
    "failures in a row": Scene(spare(allowed_fails=2), fails("a"), "aaabbbbb", "abababbbb", calls=6),
    "no failure allowed": Scene(spare(allowed_fails=0), fails("a"), "abbb", calls=3),
    # Theirs raises, and then rests it.
    "404": Scene(spare(), fails("a", 404), "abb", "abbb", calls=3),
    "400": Scene(spare(), fails("a", 400), "aa", calls=2),
    "no other attempt": Scene(spare(num_retries=0), fails("ab"), "a"),
    **{
        f"fallbacks after {status}": Scene(four(fallbacks=ORDER), fails("ab", status), "abd")
        for status in (400, 401, 500)
    },
    "fallbacks, those of one before the next": Scene(four(fallbacks=ORDER), fails("abd"), "abdc"),
    "fallbacks in a circle": Scene(four(fallbacks=[{"g": ["h"]}, {"h": ["g"]}]), fails("ab"), "ab"),
    "two lists for one group": Scene(four(fallbacks=[{"g": ["h"]}, {"g": ["i"]}]), fails("ab"), "ab"),
    "fallbacks of all": Scene(four(fallbacks=[{"*": ["h", "i"]}]), fails("ab"), "abc"),
    "fallbacks of all, and its own": Scene(four(fallbacks=[{"g": ["h"]}, {"*": ["i"]}]), fails("ab"), "ab"),
    "default fallbacks": Scene(four(default_fallbacks=["j"]), fails("a"), "ad"),
    "default fallbacks, and its own": Scene(four(fallbacks=[{"g": ["h"]}], default_fallbacks=["j"]), fails("ab"), "ab"),
    "an alias": Scene(four(model_group_alias={"al": "g"}), model="al", asked="a"),
    "an alias has no fallbacks of its group": Scene(
        four(model_group_alias={"al": "g"}, fallbacks=[{"g": ["h"]}]), fails("a"), "a", model="al"
    ),
    "an alias has its own": Scene(
        four(model_group_alias={"al": "g"}, fallbacks=[{"al": ["h"]}]), fails("a"), "ab", model="al"
    ),
    "an alias behind a group": Scene(four(model_group_alias={"al": "h"}, fallbacks=[{"g": ["al"]}]), fails("a"), "ab"),
    "an alias of another group's name": Scene(four(model_group_alias={"g": "h"}), asked="b"),
}

SHARES: dict[str, tuple[list[dict[str, Any]], dict[str, float]]] = {
    "weight": ([{"weight": 3}, {"weight": 1}, {}], {"a": 3, "b": 1}),
    "rpm": ([{"rpm": 30}, {"rpm": 10}, {}], {"a": 3, "b": 1}),
    "tpm": ([{"tpm": 300}, {"tpm": 100}], {"a": 3, "b": 1}),
    "weight before rpm": ([{"weight": 1, "rpm": 1}, {"rpm": 30}], {"a": 1}),
    "weights of nothing": ([{"weight": 0}, {"weight": 0, "rpm": 0}], {"a": 1, "b": 1}),
    "nothing": ([{}, {}, {}], {"a": 1, "b": 1, "c": 1}),
}

SENT: dict[str, dict[str, Any]] = {
    "options": {"temperature": 0.2, "top_p": 0.5, "seed": 3, "stop": ["x"], "max_tokens": 7},
    "base_url": {"api_base": None, "base_url": "URL/v1"},
    "a body's own fields": {"extra_body": {"chat_template_kwargs": {"thinking": False}}},
    "headers, an organization": {"extra_headers": {"x-team": "search"}, "organization": "org-1"},
    "vLLM": {"model": "hosted_vllm/m", "top_k": 3},
    "another provider": {"model": "m", "custom_llm_provider": "openai"},
    "a name with slashes": {"model": "openai/meta/llama"},
    "Azure": {"model": "azure/dep", "api_base": "URL", "api_version": "2024-10-21", "temperature": 0.1},
    "Azure's newer address": {"model": "azure/dep", "api_base": "URL", "api_version": "preview"},
    "Azure behind a path": {"model": "azure/dep", "api_base": "URL/gate", "api_version": "2024-10-21"},
    "numbers that are texts": {"max_tokens": 9, "timeout": "30", "stream_timeout": "20", "rpm": 5, "tpm": 6},
}


def _write_sent(params: dict[str, Any]) -> dict[str, Any]:
    entry = write("g", "k", **params)
    entry["litellm_params"] = {key: value for key, value in entry["litellm_params"].items() if value is not None}
    return {"model_list": [entry]}


ALL = {
    **SCENES,
    **{name: Scene(_write_sent(params)) for name, params in SENT.items()},
    **{
        name: Scene(
            {"model_list": [write("g", key, **params) for key, params in zip("abc", entries, strict=False)]},
            choices=CHOICES,
        )
        for name, (entries, _) in SHARES.items()
    },
}


def play_theirs(scenes: Sequence[Scene]) -> list[Any]:
    """Have LiteLLM play scenes, in one process: its import takes seconds."""
    done = subprocess.run(
        [sys.executable, str(Path(__file__).parent / "asked.py")],
        input=json.dumps([asdict(scene) for scene in scenes]),
        env={**os.environ, "NO_PROXY": "127.0.0.1"},
        capture_output=True,
        text=True,
        timeout=250,
        check=False,
    )
    assert not done.returncode, done.stderr
    return list(json.loads(done.stdout.splitlines()[-1]))


async def play_ours(scene: Scene) -> list[str]:
    """Have hocket play a scene."""
    model = routers_from_litellm(scene.config)[scene.model]
    answers: list[str] = []
    for _ in range(scene.calls):
        try:
            answers.append((await model.ainvoke("hi")).text)
        except LLMError:
            answers.append("")
    return answers


class Asked:
    """A scripted server, which knows deployments by their keys: the name of the scene, and a letter.

    Attributes:
        answers, requests: of LiteLLM's router, by scenes.
    """

    def __init__(self) -> None:
        self.server: Server = serve(OpenAIFormat(), self.answer)
        self.answers: dict[str, Any] = {}
        self.requests: dict[str, list[ReceivedRequest]] = {}

    def play_all(self) -> None:
        """Have LiteLLM play all scenes."""
        for name, scene in ALL.items():
            text = json.dumps(scene.config).replace("URL", self.server.origin)
            scene.config = json.loads(text)
            for entry in scene.config["model_list"]:
                entry["litellm_params"]["api_key"] = f"{name}/{entry['litellm_params']['api_key']}"
        self.answers = dict(zip(ALL, play_theirs([*ALL.values()]), strict=True))
        self.requests = self.take()

    @staticmethod
    def read_key(request: ReceivedRequest) -> tuple[str, str]:
        key = request.headers.get("api-key", "") or request.headers["authorization"].removeprefix("Bearer ")
        scene, _, letter = key.rpartition("/")
        return scene, letter

    def answer(self, request: ReceivedRequest) -> Reply | Status:
        scene, letter = self.read_key(request)
        status, headers = ALL[scene].plan.get(letter, (200, {}))
        return Reply(letter) if status == 200 else Status(status, headers=headers)

    def take(self) -> dict[str, list[ReceivedRequest]]:
        """Return what was asked since the last time, by scenes."""
        taken: dict[str, list[ReceivedRequest]] = {}
        for request in self.server.requests:
            taken.setdefault(self.read_key(request)[0], []).append(request)
        self.server.requests.clear()
        return taken

    def read_letters(self, requests: Sequence[ReceivedRequest]) -> str:
        return "".join(self.read_key(request)[1] for request in requests)


@pytest.fixture(scope="module")
def asked() -> Iterator[Asked]:
    one = Asked()
    with one.server:
        one.play_all()
        yield one


@pytest.mark.parametrize("name", SCENES)
async def test_who_is_asked(name: str, asked: Asked):
    """In which order, and with the same answers, or as the scene says."""
    scene, theirs = SCENES[name], asked.answers[name]
    assert asked.read_letters(asked.requests[name]) == scene.asked, theirs
    ours = await play_ours(scene)
    assert asked.read_letters(asked.take()[name]) == (scene.ours or scene.asked), ours
    if scene.ours is None:
        assert ours == theirs


@pytest.mark.parametrize("name", SHARES)
def test_shares(name: str, asked: Asked):
    """Of 2,000 choices, by the same numbers; four standard deviations apart at most."""
    scene, (_, wanted) = ALL[name], SHARES[name]
    router = routers_from_litellm(scene.config)["g"]
    assert isinstance(router, ChatRouter)
    letters = dict(zip((place.name for place in router._all), "abc", strict=False))
    ours = Counter(letters[choose(router._all, "weight").name] for _ in range(CHOICES))
    theirs = {key[-1]: count for key, count in asked.answers[name].items()}
    for letter in "abc":
        share = wanted.get(letter, 0) / sum(wanted.values())
        for counted in (theirs, ours):
            apart = abs(counted.get(letter, 0) / CHOICES - share)
            assert apart <= 4 * (share * (1 - share) / CHOICES) ** 0.5, (theirs, ours)


@pytest.mark.parametrize("name", SENT)
async def test_what_is_sent(name: str, asked: Asked):
    """To the same address, with the same options, headers and key."""
    (theirs,) = asked.requests[name]
    assert await play_ours(ALL[name]) == asked.answers[name] == ["k"]
    (ours,) = asked.take()[name]
    assert (ours.path, ours.query) == (theirs.path, theirs.query)
    sent = [{key: value for key, value in one.json.items() if key != "stream"} for one in (ours, theirs)]
    assert sent[0] == sent[1]
    for header in ("x-team", "openai-organization"):
        assert ours.headers.get(header) == theirs.headers.get(header)
