"""How Bedrock is reached: whose key, which region, what is signed, and what becomes of refusals. botocore is the oracle."""

import calendar
import time
from collections.abc import Callable
from datetime import UTC, datetime
from email.utils import formatdate
from typing import Any

import anyio.to_thread
import botocore.auth
import botocore.session
import pytest
from botocore.awsrequest import AWSRequest
from botocore.config import Config
from botocore.credentials import Credentials

from hocket import errors, init_chat_model
from hocket.clouds import AWSCredentials
from hocket.errors import AuthenticationError, InvalidInput, LLMError, RateLimitError
from hocket.messages import HumanMessage, SystemMessage
from hocket.providers.bedrock import ChatBedrockConverse
from hocket.retries import RetryPolicy
from hocket.testing import BedrockFormat, Body, Reply, Status, Stream, no_network, serve
from hocket.testing.server import ReceivedRequest

NAME = "eu.amazon.nova-pro-v1:0"
AT_ONCE = RetryPolicy(max_attempts=5, first_pause=0)
WHO = AWSCredentials("AKID", "secret", "token")


@pytest.fixture(autouse=True)
def _no_aws_here(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    """Nothing of this machine's AWS: no keys, no region, no files."""
    for name in ("ACCESS_KEY_ID", "SECRET_ACCESS_KEY", "SESSION_TOKEN", "REGION", "DEFAULT_REGION", "PROFILE"):
        monkeypatch.delenv(f"AWS_{name}", raising=False)
    for name in ("BEARER_TOKEN_BEDROCK", "ENDPOINT_URL", "ENDPOINT_URL_BEDROCK_RUNTIME"):
        monkeypatch.delenv(f"AWS_{name}", raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))


def model(url: str | None = None, **fields: Any) -> ChatBedrockConverse:
    fields = {"model": NAME, "base_url": url, "region_name": "eu-west-1", "credentials": WHO, **fields}
    return ChatBedrockConverse(**{name: value for name, value in fields.items() if value is not None})


def is_signed(request: ReceivedRequest, monkeypatch: pytest.MonkeyPatch, who: AWSCredentials = WHO) -> bool:
    """Whether botocore's signer makes of a request, as it was received, the signature that it has."""
    headers = request.headers
    names = headers["authorization"].partition("SignedHeaders=")[2].partition(",")[0].split(";")
    at = calendar.timegm(time.strptime(headers["x-amz-date"], "%Y%m%dT%H%M%SZ"))
    assert abs(at - time.time()) < 60 and headers.get("x-amz-security-token") == who.session_token

    def tell_time(remove_tzinfo: bool = True) -> datetime:
        now = datetime.fromtimestamp(at, UTC)
        return now.replace(tzinfo=None) if remove_tzinfo else now

    monkeypatch.setattr(botocore.auth, "get_current_datetime", tell_time)
    sent = {name: headers[name] for name in names if name not in ("x-amz-date", "x-amz-security-token")}
    again = AWSRequest("POST", f"http://{headers['host']}{request.path}", sent, request.body)
    key = Credentials(who.access_key, who.secret_key, who.session_token)
    botocore.auth.SigV4Auth(key, "bedrock", "eu-west-1").add_auth(again)
    return bool(again.headers["Authorization"] == headers["authorization"])


def ask_with_botocore(url: str) -> tuple[str, str]:
    """What botocore's own client reads of a whole reply and of a stream."""
    session: Any = botocore.session.Session()
    session.set_credentials(WHO.access_key, WHO.secret_key, WHO.session_token)
    config = Config(retries={"max_attempts": 0}, parameter_validation=True)
    client = session.create_client("bedrock-runtime", region_name="eu-west-1", endpoint_url=url, config=config)
    asked: dict[str, Any] = {
        "modelId": NAME,
        "messages": [
            {"role": "user", "content": [{"text": "Hi"}, {"image": {"format": "png", "source": {"bytes": b"abc"}}}]}
        ],
        "system": [{"text": "Be brief."}],
        "inferenceConfig": {"maxTokens": 50, "temperature": 0.5},
    }
    whole = client.converse(**asked)
    events = list(client.converse_stream(**asked)["stream"])
    client.close()
    streamed = [event["contentBlockDelta"]["delta"]["text"] for event in events if "contentBlockDelta" in event]
    assert events[-1]["metadata"]["usage"] == whole["usage"]
    return whole["output"]["message"]["content"][0]["text"], "".join(streamed)


async def test_a_server_is_asked_as_botocores_client_asks_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same path, the same body, each signature verified where it arrives; and the same answers are read."""
    picture = {"type": "image", "base64": "YWJj", "mime_type": "image/png"}
    question: Any = [("system", "Be brief."), ("human", [{"type": "text", "text": "Hi"}, picture])]
    async with serve(BedrockFormat(), [Reply("Hello there.")] * 4) as server:
        theirs = await anyio.to_thread.run_sync(ask_with_botocore, server.url)
        asking = model(server.url, max_tokens=50, temperature=0.5)
        whole = (await asking.ainvoke(question)).text
        streamed = "".join([chunk.text async for chunk in asking.astream(question)])
    assert theirs == (whole, streamed) == ("Hello there.", "Hello there.")
    first, second, third, fourth = server.requests
    for mine, other in ((third, first), (fourth, second)):
        assert (mine.path, mine.json) == (other.path, other.json)
        assert is_signed(mine, monkeypatch) and is_signed(other, monkeypatch)
    assert third.path == "/model/eu.amazon.nova-pro-v1%3A0/converse"


async def test_the_served_side_refuses_a_signature_that_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    def answer(request: ReceivedRequest) -> Reply | Status:
        if is_signed(request, monkeypatch):
            return Reply("Hello")
        return Status(403, "does not match", error={"__type": "InvalidSignatureException"})

    async with serve(BedrockFormat(), answer) as server:
        assert (await model(server.url).ainvoke("Hi")).text == "Hello"
        with pytest.raises(AuthenticationError, match="does not match"):
            await model(server.url, credentials=AWSCredentials("AKID", "other", "token")).ainvoke("Hi")


REFUSALS: list[tuple[int, str, str, type[LLMError], bool]] = [
    (403, "AccessDeniedException", "no", errors.PermissionDenied, False),
    (403, "UnrecognizedClientException", "no", AuthenticationError, False),
    (403, "InvalidSignatureException", "no", AuthenticationError, False),
    (403, "SignatureDoesNotMatch", "no", AuthenticationError, False),
    (401, "", "no", AuthenticationError, False),
    (403, "ExpiredTokenException", "no", AuthenticationError, False),
    (429, "ThrottlingException", "no", RateLimitError, True),
    (429, "ModelNotReadyException", "no", errors.ProviderUnavailable, True),
    (500, "InternalServerException", "no", errors.ProviderUnavailable, True),
    (503, "ServiceUnavailableException", "no", errors.ProviderUnavailable, True),
    (424, "ModelErrorException", "no", errors.ProviderUnavailable, True),
    (424, "ModelStreamErrorException", "no", errors.ProviderUnavailable, True),
    (408, "ModelTimeoutException", "no", errors.RequestTimeout, True),
    (400, "ServiceQuotaExceededException", "no", errors.QuotaExceeded, False),
    (404, "ResourceNotFoundException", "no", errors.ResourceNotFound, False),
    (400, "ValidationException", "no", errors.InvalidRequest, False),
    (400, "ValidationException", "Input is too long for requested model.", errors.ContextLengthExceeded, False),
    (400, "ValidationException", "Too many input tokens: 300000", errors.ContextLengthExceeded, False),
]


@pytest.mark.parametrize("key", ["Message", "message", None])
async def test_refusals_have_their_errors(key: str | None) -> None:
    """The kind stands in a header, before a colon, or in the body; the text under either name."""
    script: list[Any] = []
    for status, kind, text, _, _ in REFUSALS:
        named = {"x-amzn-errortype": f"{kind}:http://internal.amazon.com/"} if key else {}
        body = {key: text} if key else {"message": text, "__type": f"com.amazon.coral#{kind}"}
        script.append(Body(body, status=status, headers={"x-amzn-requestid": "r1", **named}))
    async with serve(BedrockFormat(), script) as server:
        asking = model(server.url)
        for status, kind, text, error, retryable in REFUSALS:
            with pytest.raises(LLMError, match=text) as caught:
                await asking.ainvoke("Hi", retry=None)
            raised = caught.value
            assert (type(raised), raised.status, raised.retryable) == (error, status, retryable), kind
            assert (raised.provider, raised.request_id, raised.provider_code) == ("bedrock", "r1", kind or None)


@pytest.mark.parametrize("skew", [600, -600, 60])
async def test_a_wrong_clock_is_told_of(skew: int) -> None:
    """From four minutes on: AWS takes five."""
    headers = {"x-amzn-errortype": "InvalidSignatureException", "date": formatdate(time.time() - skew, usegmt=True)}
    async with serve(BedrockFormat(), [Body({"message": "Signature expired"}, status=403, headers=headers)]) as server:
        with pytest.raises(AuthenticationError) as caught:
            await model(server.url).ainvoke("Hi")
    said = f"clock is {abs(skew)} s {'ahead' if skew > 0 else 'behind'}"
    told = str(caught.value).replace("599", "600").replace("601", "600")
    assert (said in told) == (abs(skew) > 240)


def make_source(asked: list[int]) -> Callable[[], Any]:
    async def ask() -> AWSCredentials:
        asked.append(len(asked) + 1)
        return AWSCredentials("AKID", "secret", f"token-{len(asked)}", time.time() + 3600)

    return ask


@pytest.mark.both_loops
@pytest.mark.parametrize("verb", ["ainvoke", "astream"])
@pytest.mark.parametrize("is_forgiving", [True, False])
async def test_credentials_that_ran_out_are_renewed_once(verb: str, is_forgiving: bool) -> None:
    """Then the error is the caller's; the other calls keep what was renewed."""
    asked: list[int] = []

    def answer(request: ReceivedRequest) -> Reply | Status:
        good = is_forgiving and request.headers["x-amz-security-token"] == "token-2"
        return Reply("Hello") if good else Status(403, "expired", error={"__type": "ExpiredTokenException"})

    async with serve(BedrockFormat(), answer) as server:
        asking = model(server.url, credentials=make_source(asked), retry=AT_ONCE)

        async def ask() -> str:
            if verb == "ainvoke":
                return (await asking.ainvoke("Hi")).text
            return "".join([chunk.text async for chunk in asking.astream("Hi")])

        if is_forgiving:
            assert [await ask(), await ask()] == ["Hello", "Hello"]
            assert (asked, len(server.requests)) == ([1, 2], 3)
        else:
            with pytest.raises(AuthenticationError, match="expired"):
                await ask()
            assert (asked, len(server.requests)) == ([1, 2], 2)


async def test_an_exception_after_half_an_answer_has_what_came() -> None:
    """Nothing is tried again: a chunk was handed out. Before that it is."""
    broken = Stream("Hello there", error={"type": "throttlingException", "message": "Slow down"})
    first = Stream("", error={"type": "throttlingException", "message": "Slow down"})
    said: list[str] = []
    async with serve(BedrockFormat(), [broken, first, Reply("Hello")]) as server:
        asking = model(server.url, retry=AT_ONCE)
        with pytest.raises(RateLimitError, match="Slow down") as caught:
            async for chunk in asking.astream("Hi"):
                said.append(chunk.text)
        assert "".join(said) == "Hello there" and len(server.requests) == 1
        partial: Any = caught.value.partial
        assert partial is not None and "Hello there" in str(partial)
        assert "".join([chunk.text async for chunk in asking.astream("Hi")]) == "Hello"


async def test_tokens_are_counted_by_the_server() -> None:
    async with serve(BedrockFormat(), []) as server:
        count = await model(server.url).aget_num_tokens_from_messages(
            [SystemMessage("a b"), HumanMessage("c d e")], exact=True
        )
    [request] = server.requests
    assert (count, request.path) == (5, "/model/eu.amazon.nova-pro-v1%3A0/count-tokens")
    assert request.json["input"]["converse"].keys() == {"messages", "system"}


async def test_models_are_listed() -> None:
    listed = Body({"modelSummaries": [{"modelId": "a.b-v1:0", "providerName": "A"}]})
    async with serve(BedrockFormat(), [listed]) as server:
        assert await model(server.url).alist_models() == ["a.b-v1:0"]
    assert (
        server.requests[0].path == "/foundation-models" and "Signature=" in server.requests[0].headers["authorization"]
    )
    with no_network(), pytest.raises(errors.ModelRequestsBlocked, match=r"bedrock\.eu-west-1\.amazonaws\.com"):
        await model().alist_models()


ARN = "arn:aws:bedrock:ap-south-1::foundation-model/amazon.nova-pro-v1:0"
REGIONS: list[tuple[dict[str, Any], dict[str, str], str | None]] = [
    ({"region_name": "eu-west-1", "model": ARN}, {"AWS_REGION": "x"}, "bedrock-runtime.eu-west-1.amazonaws.com"),
    ({"model": ARN}, {"AWS_REGION": "x"}, "bedrock-runtime.ap-south-1.amazonaws.com"),
    ({}, {"AWS_REGION": "us-east-1", "AWS_DEFAULT_REGION": "x"}, "bedrock-runtime.us-east-1.amazonaws.com"),
    ({}, {"AWS_DEFAULT_REGION": "us-east-2"}, "bedrock-runtime.us-east-2.amazonaws.com"),
    ({"region_name": "cn-north-1"}, {}, "bedrock-runtime.cn-north-1.amazonaws.com.cn"),
    ({"region_name": "r"}, {"AWS_ENDPOINT_URL": "https://a.example"}, "a.example"),
    (
        {"region_name": "r"},
        {"AWS_ENDPOINT_URL": "https://a.example", "AWS_ENDPOINT_URL_BEDROCK_RUNTIME": "https://b.example"},
        "b.example",
    ),
    ({"region_name": "r", "endpoint_url": "https://c.example"}, {"AWS_ENDPOINT_URL": "https://a.example"}, "c.example"),
    ({}, {}, None),
]


@pytest.mark.parametrize(("fields", "environ", "host"), REGIONS)
def test_region_and_address(
    fields: dict[str, Any], environ: dict[str, str], host: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    fields = {"model": "m", "credentials": WHO, **fields}
    if host is None:
        with pytest.raises(InvalidInput, match="AWS_REGION"):
            ChatBedrockConverse(**fields)
    else:
        assert ChatBedrockConverse(**fields).base_url == f"https://{host}"


def test_the_profiles_region_is_the_last_to_count(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    (tmp_path / "config").write_text("[profile shop]\nregion = sa-east-1\n")
    assert ChatBedrockConverse(model="m", credentials_profile_name="shop").region_name == "sa-east-1"


@pytest.mark.parametrize(
    "fields",
    [
        {"credentials": WHO, "api_key": "k"},
        {"credentials_profile_name": "a", "aws_access_key_id": "k", "aws_secret_access_key": "s"},
        {"aws_access_key_id": "k"},
        {"aws_session_token": "t"},
        {"bedrock_api_key": "a", "api_key": "b"},
        {"model_id": "a", "model": "b"},
    ],
    ids=str,
)
def test_fields_that_contradict_each_other_are_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        ChatBedrockConverse(**{"model": "m", "region_name": "r", **fields})


async def test_keys_one_by_one_sign_and_a_bedrock_key_is_a_bearer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Given under any of their names, or found where the environment names the address."""
    one_by_one = {"credentials": None, "aws_access_key_id": "AKID", "aws_secret_access_key": "secret"}
    async with serve(BedrockFormat(), [Reply("a")] * 4) as server:
        await model(server.url, **one_by_one, aws_session_token="token").ainvoke("Hi")
        await model(None, credentials=None, endpoint_url=server.url, bedrock_api_key="key-1").ainvoke("Hi")
        monkeypatch.setenv("AWS_ENDPOINT_URL", server.url)
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKID")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
        monkeypatch.setenv("AWS_SESSION_TOKEN", "token")
        await model(credentials=None).ainvoke("Hi")
        monkeypatch.setenv("AWS_BEARER_TOKEN_BEDROCK", "key-2")
        await model(credentials=None).ainvoke("Hi")
    first, second, third, fourth = server.requests
    assert is_signed(first, monkeypatch) and is_signed(third, monkeypatch)
    assert [one.headers["authorization"] for one in (second, fourth)] == ["Bearer key-1", "Bearer key-2"]


def test_keys_that_were_only_found_go_to_no_other_host(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_BEARER_TOKEN_BEDROCK", "key")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKID")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    assert ChatBedrockConverse(model="m", region_name="eu-west-1").api_key is not None
    with pytest.raises(AuthenticationError, match="not known to belong"):
        ChatBedrockConverse(model="m", region_name="eu-west-1", base_url="https://a.example")


def test_nothing_secret_is_shown() -> None:
    made = model(credentials=AWSCredentials("AKID", "sec-canary", "tok-canary"))
    shown = made.render("Hi")
    assert shown.headers["authorization"] == "**********"
    assert "canary" not in f"{made!r} {shown} {made.model_dump()} {made.model_dump_json()}"


@pytest.mark.parametrize("name", ["bedrock", "bedrock_converse", "aws", "amazon_bedrock"])
def test_it_is_found_by_its_names(name: str) -> None:
    made = init_chat_model(f"{name}:eu.anthropic.claude-sonnet-5-5-v1:0", region_name="eu-west-1", api_key="k")
    assert isinstance(made, ChatBedrockConverse) and made.model == "eu.anthropic.claude-sonnet-5-5-v1:0"
    assert made.profile is not None
    bare = init_chat_model("amazon.nova-pro-v1:0", region_name="eu-west-1", api_key="k")
    assert isinstance(bare, ChatBedrockConverse)
