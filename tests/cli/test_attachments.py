"""`hocket chat -a FILE`: pictures, PDF, recordings and texts, known by their content."""

import base64
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hocket.cli.chat import attachments
from hocket.cli.chat.attachments import read_attachment
from hocket.testing import Body, OpenAIFormat, Status, serve

Inside = Callable[..., Any]
PNG = b"\x89PNG\r\n\x1a\n picture"


@pytest.mark.parametrize(
    ("data", "kind", "media_type"),
    [
        (PNG, "image", "image/png"),
        (b"\xff\xd8\xff\xe0..", "image", "image/jpeg"),
        (b"GIF89a..", "image", "image/gif"),
        (b"RIFF\n\0\0\0WEBPVP8", "image", "image/webp"),
        (b"%PDF-1.7\n", "file", "application/pdf"),
        (b"RIFF\x10\0\0\0WAVEfmt ", "audio", "audio/wav"),
        (b"ID3\x04", "audio", "audio/mpeg"),
    ],
)
def test_kinds(tmp_path: Path, data: bytes, kind: str, media_type: str) -> None:
    """Whatever the file is called."""
    (tmp_path / "thing.txt").write_bytes(data)
    part = read_attachment(str(tmp_path / "thing.txt"))
    assert (part["type"], part["mime_type"], base64.b64decode(part["base64"])) == (kind, media_type, data)


@pytest.mark.parametrize("text", ["GIF8 begins a picture", "%PDF begins another file"])
def test_a_text_is_no_picture(tmp_path: Path, text: str) -> None:
    """Half of a signature is none."""
    (tmp_path / "notes.md").write_text(text)
    assert read_attachment(str(tmp_path / "notes.md")) == {"type": "text", "text": f"notes.md:\n{text}"}


def test_a_picture_and_a_text_are_sent(inside: Inside, tmp_path: Path) -> None:
    """The question first, with the texts under their names."""
    (tmp_path / "sky.png").write_bytes(PNG)
    (tmp_path / "notes.md").write_text("\ufeffIt was bläulich.\n", encoding="utf-8")
    with serve(OpenAIFormat(), "Blue.") as server:
        files = ("-a", str(tmp_path / "sky.png"), "-a", str(tmp_path / "notes.md"))
        done = inside("--base-url", server.url, "-m", "small", *files, "What colour?")
    assert (done.returncode, done.stdout) == (0, "Blue.\n")
    text, picture = server.requests[0].json["messages"][-1]["content"]
    assert text == {"type": "text", "text": "What colour?\n\nnotes.md:\nIt was bläulich.\n"}
    assert picture["image_url"]["url"] == f"data:image/png;base64,{base64.b64encode(PNG).decode()}"


def test_standard_input_is_attached(inside: Inside, monkeypatch: pytest.MonkeyPatch) -> None:
    """By a dash; it is no part of the question then."""
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(PNG)))
    with serve(OpenAIFormat(), "Blue.") as server:
        assert inside("--base-url", server.url, "-m", "small", "-a", "-", "What colour?").stdout == "Blue.\n"
    assert [part["type"] for part in server.requests[0].json["messages"][-1]["content"]] == ["text", "image_url"]


def test_what_cannot_be_attached(inside: Inside, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One line, misuse, and nothing is asked."""
    monkeypatch.setattr(attachments, "MOST_BYTES", 64)
    for name, data in (
        ("b.bin", b"\0\1\2"),
        ("latin.txt", b"\xe4"),
        ("none", b""),
        ("large", b"x" * 65),
        ("p.png", PNG),
    ):
        (tmp_path / name).write_bytes(data)
    for name, says in (
        ("b.bin", "is no picture, PDF, recording or UTF-8 text"),
        ("latin.txt", "is no picture, PDF, recording or UTF-8 text"),
        ("none", "it is empty"),
        ("large", "it has more than"),
        ("nowhere", "No such file"),
        ("", "Is a directory"),
        ("p.png", "reads no image"),  # the embedded model
    ):
        done = inside("-m", "local", "-a", str(tmp_path / name), "What?")
        assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (2, "", 1), name
        assert says in done.stderr


@pytest.mark.parametrize(
    ("answer", "code", "says"),
    [
        (Body(b"x" * 65), 2, "has more than"),
        (Status(404), 2, "the server says 404; check the address"),
        (Status(503), 5, "the server says 503; try again later"),
        (
            Body(b"", status=302, headers={"location": "http://169.254.169.254/keys?key=k"}),
            2,
            "169.254.169.254/keys?key=**",
        ),
    ],
    ids=["large", "none", "down", "elsewhere"],
)
def test_what_an_address_cannot_give(
    inside: Inside, monkeypatch: pytest.MonkeyPatch, answer: object, code: int, says: str
) -> None:
    """It is told, and nothing is asked; a redirect is followed nowhere."""
    monkeypatch.setattr(attachments, "MOST_BYTES", 64)
    with serve(OpenAIFormat(), [answer]) as server:
        done = inside("-m", "fake:yes", "-a", f"{server.url}/sky.png", "What?")
    assert (done.returncode, done.stdout, len(server.requests)) == (code, "", 1)
    assert says in done.stderr and len(done.stderr.splitlines()) == 1


def test_an_address_is_attached(inside: Inside) -> None:
    """Fetched without a key, and what is secret in it stays out of the question."""
    with serve(OpenAIFormat(), [Body(b"Blue light."), Body(PNG), "Blue."]) as server:
        files = ("-a", f"{server.url}/sky.png", "-f", server.url.replace("://", "://ada:secret@") + "/n.txt?token=abc")
        done = inside("--base-url", server.url, "-m", "small", *files, "What colour?", OPENAI_API_KEY="sk-1")
    assert (done.returncode, done.stdout) == (0, "Blue.\n"), done.stderr
    _, sky, asked = server.requests
    assert (sky.method, sky.path, "sk-1" in str(sky.headers)) == ("GET", "/v1/sky.png", False)
    text, picture = asked.json["messages"][-1]["content"]
    assert picture["type"] == "image_url" and text["text"].endswith("Blue light.\n\nWhat colour?")
    assert "secret" not in text["text"] and "abc" not in text["text"]


def test_a_file_is_attached_in_a_conversation(terminal: Callable[..., Any], tmp_path: Path) -> None:
    """To the next question alone."""
    (tmp_path / "notes.md").write_text("Bleed it in May.")
    session = terminal("-m", "acted:echo", "-a", str(tmp_path / "notes.md"))
    session.wait_for("> ")
    session.type("one\n")
    assert "one\\n\\nnotes.md:\\nBleed it in May." in session.wait_for("\n> ")
    session.type(f"/attach {tmp_path / 'nowhere'}\n")
    session.wait_for("No such file or directory")
    session.type(f"/attach {tmp_path / 'notes.md'}\n")
    session.wait_for("to the next question is attached")
    session.wait_for("\n> ")
    session.type("two\n")
    assert "two\\n\\nnotes.md:\\nBleed it" in session.wait_for("\n> ")
    session.type("three\n")
    assert '["human", "three"]]' in session.wait_for("\n> ")
