"""Tokens of Google Cloud: google-auth asks a played token endpoint, security token service and metadata server."""

import json
import pickle
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import anyio
import httpx  # noqa: F401  # a proxy needs it, and to import it in the loop would block it
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat
from google.auth import jwt
from google.auth.compute_engine import _metadata
from google.oauth2 import credentials as user_credentials
from google.oauth2.credentials import Credentials

from hocket import ChatVertexAI, init_chat_model
from hocket.clouds import google_token
from hocket.clouds.google import GoogleToken, GoogleTokenSource
from hocket.errors import AuthenticationError, InvalidInput, TotalTimeout
from hocket.http.clients import ClientSettings
from hocket.testing import Body, GoogleFormat, Reply, serve
from hocket.testing.server.wire import ReceivedRequest

pytestmark = pytest.mark.both_loops

KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)
PEM = KEY.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
PUBLIC = KEY.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
FLAVOR = {"metadata-flavor": "Google"}
METADATA = "/computeMetadata/v1"
TOKEN = {"expires_in": 3600, "token_type": "Bearer"}


def play(request: ReceivedRequest) -> Body:
    """Google, as far as tokens go."""
    form = {name: values[0] for name, values in parse_qs(request.body.decode()).items()}
    place = request.path.rpartition("/")[2]
    if "assertion" in form:
        claims: Mapping[str, Any] = jwt.decode(form["assertion"], certs=PUBLIC)  # type: ignore[no-untyped-call]
        return Body({"access_token": f"for {claims['iss']} {claims['scope'].rpartition('/')[2]}", **TOKEN})
    if "refresh_token" in form:
        return Body({"access_token": f"for {form['refresh_token']}", **TOKEN})
    if "subject_token" in form:
        kind = "urn:ietf:params:oauth:token-type:access_token"
        return Body({"access_token": f"for {form['subject_token']}", "issued_token_type": kind, **TOKEN})
    if place == "project-id":
        return Body(b"metadata-shop", headers=FLAVOR)
    if place == "token":
        return Body({"access_token": "for the machine", **TOKEN}, headers=FLAVOR)
    return Body({"email": "machine@shop", "scopes": []} if "recursive" in request.query else b"", headers=FLAVOR)


def write_info(kind: str, url: str, folder: Path) -> dict[str, Any]:
    """What the JSON file of such credentials holds."""
    if kind == "service_account":
        named = {"client_email": "robot@shop", "private_key": PEM, "private_key_id": "1", "project_id": "shop"}
        return {"type": kind, "token_uri": f"{url}/token", **named}
    if kind == "authorized_user":
        user = {"client_id": "c", "client_secret": "hidden", "refresh_token": "user", "quota_project_id": "quota"}
        return {"type": kind, "token_uri": f"{url}/token", **user}
    (folder / "subject").write_text("pod")
    audience = "//iam.googleapis.com/locations/global/workforcePools/p/providers/q"
    source = {"credential_source": {"file": str(folder / "subject")}, "audience": audience}
    return {
        "type": kind,
        "token_url": f"{url}/v1/token",
        "subject_token_type": "urn:ietf:params:oauth:token-type:jwt",
        **source,
    }


@pytest.fixture
def at_metadata(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Have google-auth find a metadata server; it reads the host's variable when it is imported, so it is set there, too."""

    def use(url: str) -> None:
        host = url.removeprefix("http://")
        monkeypatch.setenv("GCE_METADATA_IP", host)
        monkeypatch.setattr(_metadata, "_GCE_METADATA_HOST", host)

    return use


@pytest.fixture
def at_token_endpoint(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Have google-auth take another place for Google's endpoint of users' tokens, which no file can name."""

    def use(url: str) -> None:
        monkeypatch.setattr(user_credentials, "_GOOGLE_OAUTH2_TOKEN_ENDPOINT", f"{url}/token")

    return use


GIVE: Mapping[str, Callable[[dict[str, Any], Path], Any]] = {
    "dict": lambda info, path: info,
    "path": lambda info, path: str(path),
    "Path": lambda info, path: path,
    "environment": lambda info, path: None,
}


@pytest.mark.parametrize("given", GIVE)
@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("service_account", GoogleToken("for robot@shop cloud-platform", "shop")),
        ("authorized_user", GoogleToken("for user", None, "quota")),
        ("external_account", GoogleToken("for pod")),
    ],
)
@pytest.mark.one_of(2)
@pytest.mark.filterwarnings("ignore:The load_credentials_from_dict method")  # of files of strangers: this one was given
async def test_credentials_of_files(
    kind: str,
    expected: GoogleToken,
    given: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    at_token_endpoint: Callable[[str], None],
) -> None:
    """By path, by what is in them, and by the variable: one trip for all calls, in however many tasks."""
    path = tmp_path / "credentials.json"
    async with serve(GoogleFormat(), play) as server:
        at_token_endpoint(server.url)
        info = write_info(kind, server.url, tmp_path)
        path.write_text(json.dumps(info))
        if given == "environment":
            monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(path))
            monkeypatch.setenv(
                "GOOGLE_CLOUD_PROJECT", "shop"
            )  # that of a workload would be asked of a host of Google's
            expected = replace(expected, project="shop")
        found: list[GoogleToken] = []

        async def ask() -> None:
            found.append(await GoogleTokenSource(GIVE[given](info, path)).get())

        async with anyio.create_task_group() as tasks:
            for _ in range(3):
                tasks.start_soon(ask)
        await ask()
        assert found == [expected] * 4
        assert len(server.requests) == 1
        assert "hidden" not in repr(GoogleTokenSource(info)) + repr(found)


async def test_a_metadata_server(at_metadata: Callable[[str], None]) -> None:
    """With the project that it names; a function that gives its tokens can be pickled with a model."""
    async with serve(GoogleFormat(), play) as server:
        at_metadata(server.url)
        assert await GoogleTokenSource().get() == GoogleToken("for the machine", "metadata-shop")
        count = len(server.requests)
        assert await pickle.loads(pickle.dumps(google_token()))() == "for the machine"
        assert len(server.requests) == count
        assert all(request.headers["metadata-flavor"] == "Google" for request in server.requests)


async def test_an_object_of_google_auth(at_token_endpoint: Callable[[str], None]) -> None:
    """One whose token holds is not refreshed, were it able to; one without is."""
    kept: Any = Credentials("ya29.own")  # type: ignore[no-untyped-call]
    assert await google_token(kept)() == "ya29.own"
    async with serve(GoogleFormat(), play) as server:
        at_token_endpoint(server.url)
        info = write_info("authorized_user", server.url, Path())
        made: Any = Credentials.from_authorized_user_info(info)  # type: ignore[no-untyped-call]
        assert await google_token(made)() == "for user"
        assert await google_token(made)() == "for user"
        assert len(server.requests) == 1
    with pytest.raises(InvalidInput, match=r"credentials is a int; it must be the path"):
        google_token(5)


WRONG: Mapping[str, tuple[Callable[[str, Path], Any], str]] = {
    "missing file": (lambda url, folder: str(folder / "none.json"), "FileNotFoundError.*none.json"),
    "no JSON": (lambda url, folder: write(folder, "{"), "ValueError: EOF"),
    "a list": (lambda url, folder: write(folder, "[]"), "no JSON object"),
    "unknown kind": (lambda url, folder: {"type": "passport"}, "passport"),
    "half a file": (lambda url, folder: {"type": "service_account", "client_email": "x"}, "MalformedError"),
    "damaged key": (
        lambda url, folder: {**write_info("service_account", url, folder), "private_key": "hidden"},
        "Google gives no token",
    ),
    "refused": (
        lambda url, folder: write_info("service_account", f"{url}/refuse", folder),
        "RefreshError.*Bad Request",
    ),
    "nonsense": (lambda url, folder: write_info("service_account", f"{url}/page", folder), "TypeError"),
    "nobody": (lambda url, folder: write_info("service_account", "http://127.0.0.1:9", folder), "TransportError"),
}


def write(folder: Path, text: str) -> str:
    (folder / "damaged.json").write_text(text)
    return str(folder / "damaged.json")


def refuse(request: ReceivedRequest) -> Body:
    if request.path.startswith("/refuse"):
        return Body({"error": "invalid_grant", "error_description": "Bad Request"}, status=400)
    return Body("a page")


@pytest.mark.parametrize("name", WRONG)
@pytest.mark.filterwarnings("ignore:The load_credentials_from_dict method")  # as above
async def test_what_is_wrong_is_told(name: str, tmp_path: Path) -> None:
    """As an error that says what google-auth said and what to do, without a secret."""
    make, words = WRONG[name]
    async with serve(GoogleFormat(), refuse) as server:
        get_token = google_token(make(server.url, tmp_path))
        with pytest.raises(AuthenticationError, match=words) as caught:
            await get_token()
    assert "gcloud auth application-default login" in caught.value.message
    assert "hidden" not in caught.value.message


LIES = {
    "another server": lambda request: Body(b"hello"),
    "no JSON": lambda request: Body(b"hello", headers=FLAVOR),
    "no token": lambda request: Body({}, headers=FLAVOR),
}


@pytest.mark.parametrize("lie", LIES)
async def test_a_metadata_server_that_lies(lie: str, at_metadata: Callable[[str], None]) -> None:
    """Is an error, and is asked again by the next call."""
    liar = [True]
    async with serve(GoogleFormat(), lambda request: (LIES[lie] if liar[0] else play)(request)) as server:
        at_metadata(server.url)
        with pytest.raises(AuthenticationError, match="Google gives no token"):
            await google_token()()
        liar[0] = False
        assert await google_token()() == "for the machine"


async def test_a_call_that_is_cancelled_leaves_the_token_to_the_others(at_metadata: Callable[[str], None]) -> None:
    """It ends at once, although the server is slow, and nothing is asked twice."""

    def slowly(request: ReceivedRequest) -> Any:
        return Body(play(request).content, headers=FLAVOR, delay=0.15 if request.path.endswith("/token") else 0)

    found: list[str] = []
    async with serve(GoogleFormat(), slowly) as server:
        at_metadata(server.url)

        async def ask() -> None:
            found.append(await google_token()())

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask)
            with anyio.move_on_after(0.02) as scope:
                await google_token()()
            assert scope.cancelled_caught and not found
        assert found == ["for the machine"]
        assert [request.path.endswith("/token") for request in server.requests].count(True) == 1


async def test_a_slow_metadata_server_keeps_no_call_beyond_its_limit(at_metadata: Callable[[str], None]) -> None:
    """The call ends by its own deadline; the next one finds the token that has come since."""

    def slowly(request: ReceivedRequest) -> Any:
        if request.method == "POST":
            return Reply("Hello.")
        return Body(play(request).content, headers=FLAVOR, delay=0.1)

    async with serve(GoogleFormat(), slowly) as server:
        at_metadata(server.url)
        model = ChatVertexAI(model="m", project="p", retry=None)
        hasty = model.model_copy(update={"timeout": 0.05})
        with pytest.raises(TotalTimeout):
            await hasty.ainvoke("hi")
        assert not [request for request in server.requests if request.path.endswith("/token")]
        assert (await model.model_copy(update={"base_url": server.url}).ainvoke("hi")).text == "Hello."
        assert server.requests[-1].headers["authorization"] == "Bearer for the machine"


async def test_the_proxy_holds_for_tokens(tmp_path: Path) -> None:
    """And so does `verify`, which is of the same settings."""
    async with serve(GoogleFormat(), play) as server:
        info = write_info("service_account", "http://oauth.invalid", tmp_path)
        source = GoogleTokenSource(info, settings=ClientSettings(proxy=server.url))
        assert (await source.get()).project == "shop"
        assert server.requests[0].path in ("http://oauth.invalid/token", "/token")


async def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """By a token function when it is asked."""
    monkeypatch.setitem(sys.modules, "google.auth.exceptions", None)
    with pytest.raises(AuthenticationError, match=r"hocket\[vertex\]"):
        await google_token()()


async def test_it_is_a_key_of_any_model(tmp_path: Path) -> None:
    """Such as Gemini's by its own class, at Google's address for OpenAI's format."""
    async with serve(GoogleFormat(), play) as server:
        get_token = google_token(write_info("service_account", server.url, tmp_path))
        model = init_chat_model("openai:m", base_url="http://127.0.0.1:9", api_key=get_token, retry=None)
        with pytest.raises(Exception, match=r"127\.0\.0\.1:9"):
            await model.ainvoke("hi")
        assert len(server.requests) == 1
