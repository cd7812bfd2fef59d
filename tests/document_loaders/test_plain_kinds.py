"""XML, e-mails, and what gzip has compressed."""

import gzip
import zlib
from email.message import EmailMessage
from pathlib import Path

import pytest

from hocket.document_loaders import open_documents
from hocket.errors import DocumentError
from tests.document_loaders.files import contents, make_docx, make_pdf, paragraph, write


@pytest.mark.parametrize(
    ("text", "expected", "title"),
    [
        ("<a><title>Pumps</title><p>It is <b>very</b>\n good.</p></a>", "title: Pumps\np: It is very good.", "Pumps"),
        ('<a><pump id="3" x="y"><name>P1</name></pump><none/></a>', "pump id=3 x=y\nname: P1", "a"),
        ('<a xmlns="urn:x"><price cur="EUR">12</price></a>', "price cur=EUR: 12", "a"),
        ('<!DOCTYPE a SYSTEM "http://127.0.0.1/x.dtd"><a>x&nbsp;y</a>', "a: x y", "a"),
        ("<!DOCTYPE a [<!ELEMENT a ANY>]><a>&lt;x</a>", "a: <x", "a"),
        ('<?xml version="1.0" encoding="cp1252"?><a>\u20ac</a>', "a: €", "a"),
    ],
)
def test_xml_is_an_outline(tmp_path: Path, text: str, expected: str, title: str) -> None:
    """A line for each element that says something; a DTD is not read."""
    encoding = "cp1252" if "cp1252" in text else "utf-8"
    (document,) = open_documents(write(tmp_path / "a.xml", text.encode(encoding))).load()
    assert (document.page_content, document.metadata["title"]) == (expected, title)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('<!DOCTYPE a [<!ENTITY a "ha"><!ENTITY b "&a;&a;">]><a>&b;</a>', "it has entities of its own"),
        ('<!DOCTYPE a [<!ENTITY a SYSTEM "file:///etc/passwd">]><a>&a;</a>', "it has entities of its own"),
        ('<!DOCTYPE a [<!ENTITY % a SYSTEM "file:///etc/passwd"> %a;]><a>x</a>', "it has entities of its own"),
        ('<!DOCTYPE a SYSTEM "x.dtd"><a>&unknown;</a>', "it has the entity 'unknown', which only its DTD explains"),
        ("<a>" * 2_000, "nested more than 1,000 deep"),
        ("<a><b></a>", r"a.xml, line 1: it is damaged \(mismatched tag"),
        ('<?xml version="1.0" encoding="nonsense"?><a/>', "it is damaged .unknown encoding"),
        ("<a><b/></a>", "it has neither text nor attributes"),
    ],
    ids=lambda value: value[:40],
)
def test_hostile_and_damaged_xml_is_refused(tmp_path: Path, text: str, problem: str) -> None:
    with pytest.raises(DocumentError, match=problem):
        open_documents(write(tmp_path / "a.xml", text)).load()


def test_an_email_is_who_what_and_when(tmp_path: Path) -> None:
    """The plain one of several forms, forwarded ones too; what is attached is named."""
    inner = EmailMessage()
    inner["Subject"] = "Before"
    inner.set_content("<p>The pump &amp; the valve.", subtype="html")
    mail = EmailMessage()
    mail["Subject"], mail["From"], mail["To"] = "Bleeding für Anfänger", "Ada <ada@example.org>", "bob@example.org"
    mail.set_content("In May, é.\nThen rest.")
    mail.add_alternative("<p>Not this.", subtype="html")
    mail.add_attachment(b"x", maintype="application", subtype="pdf", filename="plän.pdf")
    mail.add_attachment(inner)
    mail.set_boundary("it's (a) b+c")
    path = write(tmp_path / "a.eml", bytes(mail))
    (document,) = open_documents(path).load()
    assert document.page_content == (
        "Subject: Bleeding für Anfänger\nFrom: Ada <ada@example.org>\nTo: bob@example.org\n\nIn May, é.\nThen rest.\n\n"
        "Attached: plän.pdf, message/rfc822"
    )
    assert document.metadata == {"source": path, "title": "Bleeding für Anfänger"}
    (document,) = open_documents(write(tmp_path / "b.eml", bytes(inner))).load()
    assert document.page_content == "Subject: Before\n\nThe pump & the valve."


def nest(depth: int) -> bytes:
    parts = (b"Content-Type: multipart/mixed; boundary=b%d\n\n--b%d\n" % (at, at) for at in range(depth))
    return b"Subject: x\n" + b"".join(parts) + b"\nInside.\n"


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (nest(19), "Subject: x\n\nInside."),
        (b"Subject: x\nContent-Type: message/rfc822\n\nSubject: y\n\nInside.", "Subject: x\n\nSubject: y\n\nInside."),
        (b"Subject: =?nonsense?q?a?= \xc3\xa9\r\n\r\nHi\r\n", "Subject: =?nonsense?q?a?= é\n\nHi"),
        (b"Subject: x\nContent-Type: text/plain; charset=nonsense\n\n\xc3\xa9", "Subject: x\n\né"),
        (b"Subject: x\nContent-Type: multipart/mixed\n\nNo boundary", "Subject: x\n\nNo boundary"),
        (b"From: a@example.org", "From: a@example.org"),
    ],
    ids=lambda value: repr(value)[:40],
)
def test_untidy_emails_are_read(tmp_path: Path, data: bytes, expected: str) -> None:
    assert contents(open_documents(write(tmp_path / "a.eml", data))) == [expected]


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"plain text", "it is no e-mail"),
        (nest(21), "parts more than 20 deep"),
        (b"Subject: x\nContent-Type: multipart/mixed; boundary=b\n\n" + b"--b\n\nx\n" * 1_001, "more than 1,000 parts"),
        (b"Subject: " + b"=?" * 200_000, "byte 0: it has headers of more than 262,144 bytes"),
        (b"Subject: \xe9\n\nx", "a text is not in 'utf-8'"),
        (b"Subject: x\n\n\xe9", "a text is not in 'utf-8', as it says; name the encoding"),
    ],
    ids=lambda value: repr(value)[:40],
)
def test_hostile_emails_are_refused(tmp_path: Path, data: bytes, problem: str) -> None:
    """By limits that hold before the library's parser sees anything."""
    with pytest.raises(DocumentError, match=problem):
        open_documents(write(tmp_path / "a.eml", data)).load()
    if "name the" in problem:
        assert contents(open_documents(tmp_path / "a.eml", encoding="cp1252")) == ["Subject: x\n\né"]


@pytest.mark.parametrize(
    ("name", "data", "expected"),
    [
        ("a.md.gz", b"# Boilers\n", ["# Boilers\n"]),
        ("a.jsonl.gz", b'{"a": 1}\n{"a": 2}', ['{"a": 1}', '{"a": 2}']),
        ("a.csv.GZ", b"x,y\n1,2\n", ["x: 1\ny: 2"]),
        ("a.gz", make_pdf(["One."]), ["One."]),
        ("a", make_docx(paragraph("One.")), ["One."]),
        ("a.txt.gz", b"x" * 100_000, ["x" * 100_000]),
    ],
)
def test_what_is_compressed_is_read_as_what_it_is(tmp_path: Path, name: str, data: bytes, expected: list[str]) -> None:
    path = write(tmp_path / name, gzip.compress(data))
    documents = open_documents(path).load()
    assert [document.page_content for document in documents] == expected
    assert documents[0].metadata["source"] == path
    assert documents[0].metadata.get("title", "a") in ("a", "Boilers")


@pytest.mark.parametrize(
    ("name", "data", "problem"),
    [
        (
            "a.txt.gz",
            gzip.compress(b" " * 2_000),
            "it expands to more than the 1,000 bytes that are read; raise max_expanded",
        ),
        ("a.txt.gz", gzip.compress(b"text")[:-3], "it is cut or damaged"),
        ("a.txt.gz", gzip.compress(b"text")[:-8] + bytes(8), "it is cut or damaged .CRC check failed"),
        ("a.txt.gz", gzip.compress(b"text")[:10] + b"\xff" * 20, "it is cut or damaged"),
        ("a.txt.gz", gzip.compress(b""), "what is in it is empty"),
        ("a.gz.gz", gzip.compress(gzip.compress(b"text")), "a gzip archive within another, which is not read"),
        ("a.tar.gz", gzip.compress(b"text"), "files of the kind .tar are not read"),
        ("a.txt.gz", zlib.compress(b"text"), "its name says gzip, but its content is not"),
        ("a.pdf.gz", gzip.compress(b"text"), "its name says PDF, but its content is not"),
    ],
)
def test_what_cannot_be_unpacked_is_refused(tmp_path: Path, name: str, data: bytes, problem: str) -> None:
    path = write(tmp_path / name, data)
    with pytest.raises(DocumentError, match=problem) as caught:
        open_documents(path, max_expanded_bytes=1_000).load()
    assert caught.value.path == path
