"""What a service of AWS's is made of: ways to authenticate, regions, addresses; and where its keys go."""

import copy
import json
import pickle
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import anyio
import pytest
from pydantic import ValidationError

from hocket.clouds import AWSCredentials
from hocket.clouds.aws import CredentialsSource
from hocket.errors import AuthenticationError, InvalidInput, LLMError, PermissionDenied, ProviderUnavailable
from hocket.http.request import HTTPReply, HTTPRequest
from hocket.language_models.options import ChatOptions
from hocket.load import dumps, loads
from hocket.messages import AIMessage
from hocket.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from hocket.providers.bedrock import ChatBedrockConverse
from hocket.remote import RemoteChatModel, StreamDecoder
from hocket.remote.aws_service import AWSService
from hocket.retries import RetryPolicy
from hocket.testing import Body, OpenAIFormat, ReceivedRequest, Status, serve, virtual_clock

REGION: dict[str, Any] = {"region_name": "eu-west-1"}
KEYS: dict[str, Any] = {
    "aws_access_key_id": "AKIAGIVEN",
    "aws_secret_access_key": "given-secret",
    "aws_session_token": "given-token",
}
HOME = "https://bedrock-runtime.eu-west-1.amazonaws.com"


class TinyOptions(ChatOptions):
    """All that models share."""

    model: str = "m"


class ChatTiny(AWSService, TinyOptions, RemoteChatModel):
    """It sends the conversation's text."""

    _options: ClassVar = TinyOptions

    def _request(self, messages: Any, options: TinyOptions, *, stream: bool) -> HTTPRequest:
        return self._post(self._url("talk"), {"said": [message.text for message in messages]})

    def _decode(self, reply: HTTPReply) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=AIMessage(reply.content.decode()))])

    def _decoder(self, headers: Mapping[str, str]) -> StreamDecoder[ChatGenerationChunk]:
        raise NotImplementedError

    @property
    def _llm_type(self) -> str:
        return "tiny"


def give() -> AWSCredentials:
    return AWSCredentials("AKIAASKED", "asked-secret", "asked-token")


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"api_key": "k", "credentials": give}, "credentials and api_key are given, which are ways to authenticate"),
        ({"api_key": "k", **KEYS}, "api_key and aws_access_key_id are given"),
        (
            {"credentials": give(), "credentials_profile_name": "a"},
            "credentials and credentials_profile_name are given",
        ),
        ({"aws_access_key_id": "AKIA"}, "aws_secret_access_key is missing: a key of AWS's has an id and a secret"),
        ({"aws_session_token": "t"}, "aws_access_key_id and aws_secret_access_key is missing"),
        ({**KEYS, "aws_secret_access_key": " "}, "secret_key of AWSCredentials is empty"),
        ({"credentials": give, "region_name": None}, "none is named: give region_name='eu-west-1', or set AWS_REGION"),
        ({"credentials": {"access_key": "a", "secret_key": "s"}}, "credentials"),
        ({"credentials": {"profile": "a"}}, "credentials"),
        ({"credentials": give, "region_name": "evil.example/a"}, "the region 'evil.example/a' is not one of"),
    ],
)
def test_what_contradicts_itself_or_is_not_whole_is_refused(fields: dict[str, Any], told: str) -> None:
    """When the service is made, and no secret is in the error."""
    with pytest.raises((InvalidInput, ValidationError), match=told) as caught:
        ChatTiny(**{**REGION, **fields})
    assert "secret" not in str(caught.value).replace("aws_secret_access_key", "").replace(
        "id and a secret", ""
    ).replace("secret_key of", "")


def find_region(**fields: Any) -> str | None:
    return ChatTiny(api_key="k", **fields).region_name


def test_the_region_is_looked_for_in_order(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The field, the model's ARN, the two variables, the profile; it makes the address."""
    (tmp_path / "config").write_text("[default]\nregion = r5\n[profile shop]\nregion = r6\n")
    arn = "arn:aws:bedrock:r2:1:inference-profile/eu.anthropic.claude-v1:0"
    assert find_region() == "r5"
    assert ChatTiny(credentials_profile_name="shop").region_name == "r6"
    monkeypatch.setenv("AWS_DEFAULT_REGION", "r4")
    assert find_region() == "r4"
    monkeypatch.setenv("AWS_REGION", "r3")
    assert find_region() == "r3"
    assert find_region(model="arn:aws:bedrock::1:x") == "r3"
    assert find_region(model=arn) == find_region(model_id=arn) == "r2"
    assert find_region(model=arn, region_name="r1") == "r1"
    assert ChatTiny(api_key="k", **REGION).base_url == HOME
    assert ChatTiny(api_key="k", region_name="cn-north-1").base_url.endswith("cn-north-1.amazonaws.com.cn")


def test_the_address_is_looked_for_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """The field, the two variables, the region's. A key with an address needs no region."""
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://all.example")
    assert ChatTiny(api_key="k", **REGION).base_url == "http://all.example"
    monkeypatch.setenv("AWS_ENDPOINT_URL_BEDROCK_RUNTIME", "http://own.example")
    assert ChatTiny(api_key="k", **REGION).base_url == "http://own.example"
    assert ChatTiny(api_key="k", base_url="http://a.example").base_url == "http://a.example"
    other_name: dict[str, Any] = {"endpoint_url": "http://a.example"}
    assert ChatTiny(api_key="k", **other_name, **REGION).base_url == "http://a.example"


@pytest.mark.parametrize(
    ("url", "is_sent"),
    [
        (HOME, True),
        ("https://bedrock-runtime-fips.eu-west-1.amazonaws.com", True),
        ("https://vpce-1.bedrock-runtime.eu-west-1.vpce.amazonaws.com", True),
        ("https://bedrock-runtime.eu-west-1.api.aws", True),
        ("https://own.example/aws", True),  # the environment names it
        ("http://bedrock-runtime.eu-west-1.amazonaws.com", False),
        ("https://1.execute-api.eu-west-1.amazonaws.com", False),
        ("https://ec2-1-2-3-4.compute-1.amazonaws.com", False),
        ("https://bedrock-runtime.eu-west-1.amazonaws.com.evil.example", False),
        ("http://127.0.0.1:1", False),
    ],
)
def test_what_was_found_goes_to_the_services_hosts_alone(
    url: str, is_sent: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Or to the address that the environment names: a key of Bedrock's, keys of AWS's, and AWS's chain alike."""
    monkeypatch.setenv("AWS_ENDPOINT_URL_BEDROCK_RUNTIME", "https://own.example/aws")
    for variables in (
        {},
        {"AWS_ACCESS_KEY_ID": "AKIAFOUND", "AWS_SECRET_ACCESS_KEY": "found-secret"},
        {"AWS_BEARER_TOKEN_BEDROCK": "found-key"},
    ):
        with monkeypatch.context() as patch:
            for name, value in variables.items():
                patch.setenv(name, value)
            if is_sent:
                model = ChatTiny(base_url=url, **REGION)
                assert (model.api_key is not None) == ("AWS_BEARER_TOKEN_BEDROCK" in variables)
                assert (model.credentials is not None) != (model.api_key is not None)
            else:
                with pytest.raises(AuthenticationError, match="is not known to belong to bedrock"):
                    ChatTiny(base_url=url, **REGION)
            given = ChatTiny(base_url=url, credentials=give, **REGION)
            assert given.credentials is give and given.api_key is None


def test_what_is_found_is_found_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """A key of Bedrock's before keys of AWS's, these before the chain; and what is given before all of them."""
    assert ChatTiny(**REGION).credentials == CredentialsSource()
    monkeypatch.setenv("AWS_SESSION_TOKEN", "found-token")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIAFOUND")
    assert ChatTiny(**REGION).credentials == CredentialsSource()
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "found-secret")
    assert ChatTiny(**REGION).credentials == AWSCredentials("AKIAFOUND", "found-secret", "found-token")
    monkeypatch.setenv("AWS_BEARER_TOKEN_BEDROCK", "found-key")
    assert ChatTiny(**REGION).credentials is None
    assert ChatTiny(**KEYS, **REGION).credentials == AWSCredentials("AKIAGIVEN", "given-secret", "given-token")
    assert ChatTiny(credentials_profile_name="a", **REGION).credentials == CredentialsSource(profile="a")
    assert ChatTiny(credentials=give, **REGION).api_key is None


def test_what_is_missing_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Region first, then keys, with the extra that finds them; without botocore only."""
    assert (
        ChatTiny.setup_needed() == "AWS has regions, and none is named: give region_name='eu-west-1', or set AWS_REGION"
    )
    monkeypatch.setenv("AWS_REGION", "eu-west-1")
    assert ChatTiny.setup_needed() is None
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    told = "set AWS_BEARER_TOKEN_BEDROCK, or give api_key=..., or install hocket[bedrock]"
    assert told in (ChatTiny.setup_needed() or "")
    with pytest.raises(AuthenticationError, match="needs a key"):
        ChatTiny()


def test_no_secret_is_shown_and_none_is_lost() -> None:
    """In what is shown and dumped of a model, and in its copies and pickles; a dump may not name a profile."""
    model = ChatTiny(**KEYS, **REGION)
    shown = [repr(model), str(model), dumps(model), model.model_dump_json(), str(model.model_dump())]
    shown += [json.dumps(dict(model.render("Hi").headers)), str(model._get_llm_string())]
    for text in shown:
        assert "given-" not in text and "AKIAGIVEN" not in text, text
    assert model.render("Hi").headers["authorization"] == "**********"
    for other in (copy.copy(model), copy.deepcopy(model), pickle.loads(pickle.dumps(model)), model.model_copy()):
        assert other.credentials == AWSCredentials("AKIAGIVEN", "given-secret", "given-token")
    profile = ChatTiny(credentials_profile_name="shop", **REGION)
    assert "shop" not in dumps(profile) and pickle.loads(pickle.dumps(profile)).credentials == profile.credentials
    node = {"lc": 1, "type": "constructor", "id": list(ChatBedrockConverse.lc_id())}
    evil = {"model": "m", "base_url": "https://evil.example", "credentials_profile_name": "shop", **REGION}
    with pytest.raises(Exception, match="credentials_profile_name"):
        loads(json.dumps({**node, "kwargs": evil}))


async def test_each_attempt_is_signed_anew_and_a_given_key_is_a_bearer() -> None:
    """By what a function gives then, and at the time of then."""
    asked: list[int] = []

    async def ask() -> AWSCredentials:
        asked.append(1)
        return AWSCredentials(f"AKIA{len(asked)}", "s", f"t{len(asked)}")

    retry = RetryPolicy(max_attempts=2, first_pause=0)
    async with serve(OpenAIFormat(), [Status(503), Body({}), Body({})]) as server:
        with virtual_clock(autojump=False):
            await ChatTiny(base_url=server.url, credentials=ask, retry=retry, **REGION).ainvoke("Hi")
        await ChatTiny(base_url=server.url, api_key="given-key").ainvoke("Hi")
    first, second, third = (request.headers for request in server.requests)
    assert [first["x-amz-security-token"], second["x-amz-security-token"]] == ["t1", "t2"]
    for number, headers in enumerate((first, second), 1):
        assert f"Credential=AKIA{number}/20260101/eu-west-1/bedrock/aws4_request" in headers["authorization"]
    assert third["authorization"] == "Bearer given-key" and "x-amz-date" not in third


def refuse(kind: str, status: int, **headers: str) -> Any:
    def answer(request: ReceivedRequest) -> Body:
        said = {"message": f"refused: {request.headers['authorization']} {request.headers.get('x-amz-security-token')}"}
        return Body(said, status=status, headers={"x-amzn-errortype": f"{kind}:http://aws.example/", **headers})

    return answer


async def test_keys_that_have_expired_are_asked_for_once_more() -> None:
    """Where somebody can be asked; and no error repeats them."""
    for credentials, times in ((give, 2), (give(), 1)):
        async with serve(OpenAIFormat(), refuse("ExpiredTokenException", 403)) as server:
            model = ChatTiny(
                base_url=server.url, credentials=credentials, retry=RetryPolicy(max_attempts=5, first_pause=0), **REGION
            )
            with virtual_clock(autojump=False), pytest.raises(AuthenticationError) as caught:
                await model.ainvoke("Hi")
        assert len(server.requests) == times
        assert not isinstance(caught.value, PermissionDenied)
        assert "asked-token" not in str(caught.value)
        signature = server.requests[-1].headers["authorization"].rpartition("Signature=")[2]
        assert len(signature) == 64 and signature[:8] not in str(caught.value)


@pytest.mark.both_loops
async def test_calls_that_share_a_fetch_that_failed_go_their_own_ways() -> None:
    """Each has an error of its own: what one call does with it, as it cleans its frames, is nothing to the others."""
    asked: list[float] = []

    async def ask() -> AWSCredentials:
        asked.append(1)
        await anyio.sleep(0.01)
        if len(asked) < 4:
            raise ProviderUnavailable("the vault sleeps", retryable=True)
        return AWSCredentials("AKIA", "s", "t", time.time() + 3600)

    ended: list[str] = []

    async def call(number: int) -> None:
        retry = RetryPolicy(max_attempts=8, first_pause=0.002 * number)
        model = ChatTiny(base_url=server.url, credentials=ask, retry=retry, **REGION)
        ended.append((await model.ainvoke("Hi")).text)

    async with serve(OpenAIFormat(), lambda request: Body({})) as server:
        with anyio.fail_after(30):
            async with anyio.create_task_group() as group:
                for number in range(12):
                    group.start_soon(call, number)
    assert ended == ["{}"] * 12


async def test_an_error_says_by_how_much_the_clock_is_wrong() -> None:
    """Where AWS refuses the signature, and says its own time."""
    cases = {
        "Thu, 01 Jan 2026 00:03:00 GMT": None,
        "Thu, 01 Jan 2026 00:10:00 GMT": "is 600 s behind: set it",
        "soon": None,
    }
    for date, told in cases.items():
        async with serve(OpenAIFormat(), refuse("InvalidSignatureException", 403, date=date)) as server:
            with virtual_clock(autojump=False), pytest.raises(LLMError) as caught:
                await ChatTiny(base_url=server.url, credentials=give, **REGION).ainvoke("Hi")
        assert isinstance(caught.value, AuthenticationError)
        assert ("this machine's clock" in str(caught.value)) == (told is not None) and (told or "") in str(caught.value)
