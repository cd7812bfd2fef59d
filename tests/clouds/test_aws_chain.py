"""AWS's own chain of credentials, walked by botocore in its thread, against played servers on this machine."""

import json
import shlex
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler
from importlib import import_module
from pathlib import Path
from socketserver import ThreadingTCPServer
from typing import Any

import anyio
import pytest

from hocket.clouds.aws import AWSCredentials, CredentialsSource, find_profile_region
from hocket.errors import AuthenticationError, InvalidInput

ENDS = (datetime.now(UTC) + timedelta(hours=1)).replace(microsecond=0)
STAMP = ENDS.strftime("%Y-%m-%dT%H:%M:%SZ")
SESSION = {"AccessKeyId": "ASIA1", "SecretAccessKey": "s1", "Token": "t1", "Expiration": STAMP}
PROCESS = {"Version": 1, **{name: SESSION[name] for name in ("AccessKeyId", "SecretAccessKey", "Expiration")}}
STS = f"""<R xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><NAMEResult><Credentials><AccessKeyId>ASIA1</AccessKeyId>
<SecretAccessKey>s1</SecretAccessKey><SessionToken>t1</SessionToken><Expiration>{STAMP}</Expiration></Credentials>
<AssumedRoleUser><Arn>arn:aws:sts::1:assumed-role/r/s</Arn><AssumedRoleId>r:s</AssumedRoleId></AssumedRoleUser>
</NAMEResult></R>"""
REFUSAL = """<ErrorResponse><Error><Type>Sender</Type><Code>AccessDenied</Code>
<Message>not allowed to assume r</Message></Error></ErrorResponse>"""


@dataclass
class Played:
    """A server of metadata: what it answers by path, and what it was asked. It waits for ``is_open``."""

    url: str = ""
    answers: dict[str, Any] = field(default_factory=dict[str, Any])
    asked: list[str] = field(default_factory=list[str])
    headers: list[dict[str, str]] = field(default_factory=list[dict[str, str]])
    is_open: threading.Event = field(default_factory=threading.Event)


@pytest.fixture
def server() -> Iterator[Played]:
    played = Played()
    played.is_open.set()

    class Handler(BaseHTTPRequestHandler):
        def answer(self) -> None:
            played.asked.append(f"{self.command} {self.path}")
            played.headers.append(dict(self.headers.items()))
            self.rfile.read(int(self.headers.get("content-length") or 0))
            assert played.is_open.wait(30)
            answer = played.answers.get(self.path, 404)
            body = (
                b"" if isinstance(answer, int) else answer if isinstance(answer, bytes) else json.dumps(answer).encode()
            )
            self.send_response(answer if isinstance(answer, int) else 403 if answer == REFUSAL.encode() else 200)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_PUT = do_POST = answer

        def log_message(self, format: str, *args: object) -> None:
            pass

    httpd = ThreadingTCPServer(("127.0.0.1", 0), Handler)
    httpd.daemon_threads = True
    thread = threading.Thread(target=httpd.serve_forever, args=(0.01,))
    thread.start()
    played.url = f"http://127.0.0.1:{httpd.server_address[1]}"
    yield played
    played.is_open.set()
    httpd.shutdown()
    httpd.server_close()
    thread.join()


@dataclass
class Home:
    """The files and variables of somebody who asks AWS."""

    path: Path
    patch: pytest.MonkeyPatch

    def set(self, **variables: str) -> None:
        for name, value in variables.items():
            self.patch.setenv(name, value)

    def write(self, *, config: str = "", credentials: str = "") -> None:
        (self.path / "config").write_text(config)
        (self.path / "credentials").write_text(credentials)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    return Home(tmp_path, monkeypatch)


def use_process(home: Home, server: Played, said: object = PROCESS) -> None:
    (home.path / "said.json").write_text(said if isinstance(said, str) else json.dumps(said))
    home.write(config=f"[default]\ncredential_process = cat {shlex.quote(str(home.path / 'said.json'))}\n")


def use_imds(home: Home, server: Played, said: Any = SESSION, role: Any = b"shop") -> None:
    """Version 2, which wants a token first."""
    home.set(AWS_EC2_METADATA_DISABLED="false", AWS_EC2_METADATA_SERVICE_ENDPOINT=server.url)
    root = "/latest/meta-data/iam/security-credentials/"
    server.answers = {"/latest/api/token": b"imds-token", root: role, f"{root}shop": said}


def use_container(home: Home, server: Played, said: Any = SESSION) -> None:
    home.set(AWS_CONTAINER_CREDENTIALS_FULL_URI=f"{server.url}/keys", AWS_CONTAINER_AUTHORIZATION_TOKEN="pod-token")
    server.answers = {"/keys": said}


def use_web_identity(home: Home, server: Played, said: str = STS) -> None:
    (home.path / "token").write_text("a.b.c")
    home.set(AWS_ENDPOINT_URL_STS=server.url, AWS_DEFAULT_REGION="eu-west-1", AWS_ROLE_ARN="arn:aws:iam::1:role/r")
    home.set(AWS_WEB_IDENTITY_TOKEN_FILE=str(home.path / "token"))
    server.answers = {"/": said.replace("NAME", "AssumeRoleWithWebIdentity").encode()}


def use_role(home: Home, server: Played, said: str = STS) -> None:
    home.set(AWS_ENDPOINT_URL_STS=server.url, AWS_DEFAULT_REGION="eu-west-1", AWS_PROFILE="shop")
    home.write(
        config="[profile shop]\nrole_arn = arn:aws:iam::1:role/r\nsource_profile = base\n",
        credentials="[base]\naws_access_key_id = AKIA0\naws_secret_access_key = s0\n",
    )
    server.answers = {"/": said.replace("NAME", "AssumeRole").encode()}


@pytest.mark.both_loops
@pytest.mark.parametrize("use", [use_process, use_imds, use_container, use_web_identity, use_role])
async def test_keys_that_end_are_found_and_kept(use: Callable[..., None], home: Home, server: Played) -> None:
    """With their end, by processes, machines, containers, web identity, and roles; later calls ask nobody."""
    use(home, server)
    token = None if use is use_process else "t1"
    for _ in range(3):
        assert await CredentialsSource().get() == AWSCredentials("ASIA1", "s1", token, ENDS)
        times = len(server.asked)
    assert len(server.asked) == times == {use_process: 0, use_imds: 3}.get(use, 1)
    if use is use_imds:
        assert server.headers[-1]["x-aws-ec2-metadata-token"] == "imds-token"
    if use is use_container:
        assert server.headers[0]["Authorization"] == "pod-token"


async def test_keys_of_profiles_are_found_and_read_again_once_aws_takes_them_no_longer(home: Home) -> None:
    """Another program may have written new ones; the two places of a profile, and its name from three."""
    home.write(
        config="[profile a]\naws_access_key_id = AKIAA\naws_secret_access_key = sa\n",
        credentials="[default]\naws_access_key_id = AKIAD\naws_secret_access_key = sd\naws_session_token = td\n",
    )
    assert await CredentialsSource().get() == AWSCredentials("AKIAD", "sd", "td")
    assert await CredentialsSource(profile="a").get() == AWSCredentials("AKIAA", "sa")
    for variable in ("AWS_PROFILE", "AWS_DEFAULT_PROFILE"):
        home.set(**{variable: "a"})
        assert (await CredentialsSource().get()).access_key == "AKIAA"
        home.patch.delenv(variable)

    home.write(credentials="[default]\naws_access_key_id = AKIAE\naws_secret_access_key = se\n")
    assert (await CredentialsSource().get()).access_key == "AKIAD"
    assert CredentialsSource().reject(["AKIAD"])
    assert (await CredentialsSource().get()).access_key == "AKIAE"


async def test_a_profile_that_is_named_is_asked_before_the_variables(home: Home) -> None:
    """As the AWS command does with --profile; one that does not exist is told."""
    home.set(AWS_ACCESS_KEY_ID="AKIAV", AWS_SECRET_ACCESS_KEY="sv")
    home.write(credentials="[a]\naws_access_key_id = AKIAA\naws_secret_access_key = sa\n")
    assert (await CredentialsSource(profile="a").get()).access_key == "AKIAA"
    assert (await CredentialsSource().get()).access_key == "AKIAV"
    with pytest.raises(AuthenticationError, match=r"chain of credentials failed .*ProfileNotFound: .*\(b\)"):
        await CredentialsSource(profile="b").get()


EXPIRED = {**SESSION, "Expiration": "2020-01-01T00:00:00Z"}
CASES: dict[str, tuple[Callable[..., None], tuple[Any, ...], str]] = {
    "process: no JSON": (
        use_process,
        ("<html>",),
        "failed \\(nothing from env, .*shared-credentials-file.*; custom-process: JSONDecode",
    ),
    "process: expired": (use_process, ({**PROCESS, "Expiration": "2020-01-01T00:00:00Z"},), "still expired"),
    "process: form": (use_process, ({"Version": 7},), "custom-process: .*Unsupported version '7'"),
    "machine: away": (use_imds, (404, 404), "has no credentials .*container-role, iam-role"),
    "machine: no role": (use_imds, (404,), r"nothing from .*, iam-role\): set AWS_"),
    "machine: a page": (use_imds, (b"<html>",), r"nothing from .*, iam-role\): set AWS_"),
    "machine: failure": (use_imds, ({"Code": "Failed", "Message": "no"},), r"nothing from .*, iam-role\): set AWS_"),
    "container: no key": (use_container, ({"Token": "t1"},), "container-role: KeyError: 'AccessKeyId'"),
    "container: expired": (use_container, (EXPIRED,), "container-role: RuntimeError: .*still expired"),
    "container: no time": (use_container, ({**SESSION, "Expiration": "soon"},), "container-role: "),
    "container: empty": (
        use_container,
        ({**SESSION, "SecretAccessKey": ""},),
        "the secret_key of AWSCredentials is empty",
    ),
    "web: refused": (
        use_web_identity,
        (REFUSAL,),
        "assume-role-with-web-identity: ClientError: .*not allowed to assume r",
    ),
    "web: a page": (use_web_identity, ("<html>",), "assume-role-with-web-identity: "),
    "role: refused": (use_role, (REFUSAL,), "assume-role: ClientError: .*not allowed to assume r"),
}


@pytest.mark.parametrize("case", CASES)
async def test_the_error_says_what_each_link_of_the_chain_said(case: str, home: Home, server: Played) -> None:
    """Whatever a server answers; and the next call asks again. No key is in it."""
    use, said, told = CASES[case]
    use(home, server, *said)
    with pytest.raises(AuthenticationError, match=told) as caught:
        await CredentialsSource().get()
    assert caught.value.message.startswith(("AWS's chain of credentials failed (", "AWS's chain has no credentials ("))
    assert "s1" not in str(caught.value) and len(str(caught.value)) < 1000
    use(home, server)
    assert (await CredentialsSource().get()).access_key == "ASIA1"


async def test_the_error_says_what_is_missing_or_damaged(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    """No credentials at all, a file that cannot be read, and no botocore."""
    with pytest.raises(AuthenticationError, match=r"nothing from env, assume-role, .*, iam-role\): set AWS_"):
        await CredentialsSource().get()
    home.write(config="[default\nregion")
    with pytest.raises(AuthenticationError, match="ConfigParseError: Unable to parse config file"):
        await CredentialsSource().get()
    monkeypatch.setitem(sys.modules, "botocore.credentials", None)
    with pytest.raises(AuthenticationError, match=r"install hocket\[bedrock\] for profiles, SSO"):
        await CredentialsSource().get()


@pytest.mark.both_loops
async def test_a_server_that_hangs_holds_up_neither_the_loop_nor_a_call_that_leaves(home: Home, server: Played) -> None:
    """The call ends at once; what the thread finds at last is the next one's."""
    use_container(home, server)
    server.is_open.clear()
    with anyio.CancelScope() as scope:
        async with anyio.create_task_group() as group:
            group.start_soon(CredentialsSource().get)
            with anyio.fail_after(30):
                while not server.asked:  # noqa: ASYNC110 - this loop goes round meanwhile
                    await anyio.sleep(0.001)
            scope.cancel()
    server.is_open.set()
    assert (await CredentialsSource().get()).access_key == "ASIA1"
    assert len(server.asked) == 1


def test_the_region_of_a_profile_is_read_as_botocore_reads_it(home: Home) -> None:
    """Without it: the file, its sections, quoted names, and the variables that name them."""
    Session = import_module("botocore.session").Session  # it has no types

    home.write(
        config="[default]\nregion = x\ns3 =\n  max_queue_size = 1\n[profile a]\nregion=us-west-2\n"
        '[profile "two words"]\nregion = eu-north-1\n[profile bare]\noutput = json\n[profile default]\nregion = eu-west-1\n'
    )
    environ: dict[str, str] = {"AWS_CONFIG_FILE": str(home.path / "config")}
    for name, region in {"a": "us-west-2", "two words": "eu-north-1", "bare": None, None: "eu-west-1"}.items():
        assert find_profile_region(name, environ) == region == Session(profile=name).get_config_variable("region")
    for variables in ({"AWS_PROFILE": "a"}, {"AWS_PROFILE": "bare", "AWS_DEFAULT_PROFILE": "a"}):
        assert find_profile_region(None, environ | variables) == "us-west-2"
    assert find_profile_region("none", environ) is None
    for damaged in ("[default\nregion = a", '[profile "a]\nregion = a', "region = a", "[default]\nregion"):
        home.write(config=damaged)
        assert find_profile_region(None, environ) is None
    (home.path / "config").write_bytes(b"[default]\nregion = \xff")
    assert find_profile_region(None, environ) is None
    assert find_profile_region(None, {"AWS_CONFIG_FILE": str(home.path / "none")}) is None
    assert find_profile_region(None, {"AWS_CONFIG_FILE": "~nobody-of-this-name/config"}) is None


def test_credentials_that_cannot_be_are_refused() -> None:
    """And secrets are not shown."""
    shown = repr(AWSCredentials("AKIA", "secret", "token", datetime(2030, 1, 1, tzinfo=UTC)))
    assert shown == "AWSCredentials(access_key='AKIA', expires_at=1893456000.0)"
    bad: list[tuple[tuple[Any, ...], str]] = [
        (("", "s"), "access_key of AWSCredentials is empty"),
        (("a", None), "secret_key of AWSCredentials is no text"),
        (("a", "s", ""), "session_token of AWSCredentials is empty"),
        (("a", "s", None, datetime(2030, 1, 1)), "expires_at is .* with tzinfo=UTC"),
        (("a", "s", None, "2030"), "expires_at is '2030'"),
    ]
    for values, told in bad:
        with pytest.raises(InvalidInput, match=told):
            AWSCredentials(*values)
