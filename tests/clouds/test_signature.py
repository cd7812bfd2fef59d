"""AWS's signatures against AWS's published examples, and against botocore's signer on requests of any kind."""

import calendar
import random
import string
import time
from datetime import UTC, datetime
from urllib.parse import quote

import botocore.auth
import pytest
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from hocket._secrets import Secret, known_secrets, redact, remember_secret
from hocket.clouds import AWSCredentials
from hocket.clouds.aws_signature import sign_request
from hocket.http import HTTPRequest
from hocket.http.secrets import find_secrets
from tests.kit.amount import RUNS_ALL

EXAMPLE_TOKEN = (
    "AQoDYXdzEPT//////////wEXAMPLEtc764bNrC9SAPBSM22wDOk4x4HIZ8j4FZTwdQWLWsKWHGBuFqwAeMicRXmxfpSPfIeoIYRqTflfKD8YUuwthAx7mSEI/"
    "qkPpKPi/kMcGdQrmGdeehM4IC1NtBmUpp2wUE8phUZampKsburEDy0KPkyQDYwT7WZ0wq5VSXDvp75YU9HFvlRd8Tx6q6fE8YQcHNVXAkiY9q6d+xo0rKwT38xV"
    "qr7ZD0u0iPPkUL64lIZbqBAz+scqKmlzm8FDrypNC9Yjc8fPOLn9FX9KSYvKTr4rvx3iSIlTJabIQwj2ICCR/oLxBA=="
)

EXAMPLES = {
    "get-vanilla": ("GET", "/", {}, b"", None, "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"),
    "get-vanilla-query-order-key-case": (
        *("GET", "/?Param2=value2&Param1=value1", {}, b"", None),
        "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500",
    ),
    "get-vanilla-empty-query-key": (
        *("GET", "/?Param1=value1", {}, b"", None),
        "a67d582fa61cc504c4bae71f336f98b97f1ea3c7a6bfe1b6e45aec72011b9aeb",
    ),
    "get-unreserved": (
        *("GET", f"/-._~0123456789{string.ascii_uppercase}{string.ascii_lowercase}", {}, b"", None),
        "07ef7494c76fa4850883e2b006601f940f8a34d404d0cfa977f52a65bbf5f24f",
    ),
    "post-vanilla": ("POST", "/", {}, b"", None, "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"),
    "post-vanilla-query": (
        *("POST", "/?Param1=value1", {}, b"", None),
        "28038455d6de14eafc1f9222cf5aa6f1a96197d7deb8263271d420d138af7f11",
    ),
    "post-x-www-form-urlencoded": (
        *("POST", "/", {"content-type": "application/x-www-form-urlencoded"}, b"Param1=value1", None),
        "ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a",
    ),
    "post-sts-header-before": (
        *("POST", "/", {}, b"", EXAMPLE_TOKEN),
        "85d96828115b5dc0cfc3bd16ad9e210dd772bbebba041836c64533a82be05ead",
    ),
}
"""Of AWS's test suite for signature version 4: those whose headers are the ones that are signed here."""


@pytest.mark.parametrize("name", EXAMPLES)
def test_published_examples(name: str) -> None:
    method, path, headers, body, token, signature = EXAMPLES[name]
    request = HTTPRequest(method, f"https://example.amazonaws.com{path}", headers, body)
    who = AWSCredentials("AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", token)
    at = calendar.timegm((2015, 8, 30, 12, 36, 0))
    signed = sign_request(request, who, region="us-east-1", service="service", at=at)
    assert signed["x-amz-date"] == "20150830T123600Z"
    assert signed["authorization"].partition("Signature=")[2] == signature


def test_random_requests_are_signed_as_botocore_signs_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """Any path, query, header, body and key."""
    chance = random.Random(1)
    letters = string.printable.strip() + "äöü😀 "

    def draw(most: int, of: str = letters) -> str:
        return "".join(chance.choice(of) for _ in range(chance.randint(1, most)))

    for _ in range(10_000 if RUNS_ALL else 500):
        path = quote(draw(40), safe=chance.choice(["-_.~", ":;", "-_.~:"])).lstrip(".") or "m"
        host = chance.choice(["bedrock-runtime.eu-west-1.amazonaws.com", "127.0.0.1:8123"])
        query = chance.choice(["", "?b=2&a=1&a=0", "?x=%2F%20y", "?e="])
        url, content = f"https://{host}/model/{path}/converse{query}", draw(300).encode()
        headers = {"content-type": chance.choice(["application/json", "a   b"]), "accept": "*/*"}
        token = chance.choice([None, draw(200, string.ascii_letters + "/+=")])
        secret, region = draw(40, string.ascii_letters), chance.choice(["us-east-1", "cn-north-1"])
        at = 1.7e9 + chance.random() * 1e8
        request = HTTPRequest("POST", url, headers, content)
        ours = sign_request(request, AWSCredentials("AKID", secret, token), region=region, service="bedrock", at=at)

        def tell_time(remove_tzinfo: bool = True, at: float = at) -> datetime:
            now = datetime.fromtimestamp(at, UTC)
            return now.replace(tzinfo=None) if remove_tzinfo else now

        monkeypatch.setattr(botocore.auth, "get_current_datetime", tell_time)
        sent = {"content-type": headers["content-type"]}
        theirs = AWSRequest("POST", url, sent, content)
        botocore.auth.SigV4Auth(Credentials("AKID", secret, token), "bedrock", region).add_auth(theirs)
        assert ours["authorization"] == theirs.headers["Authorization"], url
        assert ours.get("x-amz-security-token") == token


def test_what_is_secret_is_marked_as_such() -> None:
    request = HTTPRequest("POST", "https://a.amazonaws.com/", {}, b"")
    signed = sign_request(request, AWSCredentials("AKID", "secret", "token"), region="r", service="s", at=time.time())
    assert {name for name, value in signed.items() if isinstance(value, Secret)} == {
        "authorization",
        "x-amz-security-token",
    }
    assert "secret" not in repr(AWSCredentials("AKID", "secret", "token"))


def test_the_words_of_a_signature_are_no_secrets():
    """What AWS says of them, and whatever else has these words, is shown; the signature and the token are not."""
    request = HTTPRequest("POST", "https://bedrock-runtime.eu-west-1.amazonaws.com/model/m/converse", {}, b"{}")
    who = AWSCredentials("AKIDEXAMPLE", "secret", "a-session-token")
    headers = sign_request(request, who, region="eu-west-1", service="bedrock", at=1.7e9)
    for value in headers.values():
        if isinstance(value, Secret):
            remember_secret(value)
    signature = headers["authorization"].rpartition("Signature=")[2]
    said = "Signature expired. Credential should be scoped to a valid region: AWS4-HMAC-SHA256"
    for secrets in (known_secrets(), find_secrets([headers], [request.url], None)):
        assert redact(said, secrets) == said
        assert signature not in redact(f"got {signature}", secrets)
        assert "a-session-token" not in redact("got a-session-token", secrets)
