"""JSON: a record is a document; dotted paths find its text and its facts."""

import json
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from hocket.document_loaders import JSONLoader
from hocket.documents import Document
from hocket.errors import DocumentError
from tests.document_loaders.files import contents, list_open, load_until_error, write

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner, max_size=4)
    ),
    max_leaves=8,
)
PEOPLE = {"people": [{"name": "Ada", "born": {"year": 1815}, "tags": ["x", "y"]}, {"name": "Bob", "born": {}}]}


def test_an_element_of_a_list_is_a_document(tmp_path: Path) -> None:
    """A string is its text; anything else is JSON as it would be written, umlauts and all."""
    path = write(tmp_path / "a.json", '["Grüße", {"ä": [1, 2.5, null]}, 3]')
    assert JSONLoader(path).load() == [
        Document("Grüße", metadata={"source": path, "row": 1}),
        Document('{"ä": [1, 2.5, null]}', metadata={"source": path, "row": 2}),
        Document("3", metadata={"source": path, "row": 3}),
    ]


def test_paths_find_records_text_and_facts(tmp_path: Path) -> None:
    path = write(tmp_path / "a.json", json.dumps(PEOPLE))
    loader = JSONLoader(path, records="people", content_key="name", metadata_keys=["born.year", "tags.1", "tags"])
    assert loader.load() == [
        Document("Ada", metadata={"source": path, "row": 1, "born.year": 1815, "tags.1": "y", "tags": ["x", "y"]}),
        Document("Bob", metadata={"source": path, "row": 2}),
    ]


@pytest.mark.parametrize(
    ("data", "key", "expected"),
    [
        ({"a.b": "x"}, "a.b", "x"),
        ({"a": {"b.c": "x"}}, "a.b.c", "x"),
        ({"a": [{"b": "x"}]}, "a.0.b", "x"),
        ({"a": {"0": "x"}}, "a.0", "x"),
        ({"a": {"b": [1]}}, "a", '{"b": [1]}'),
        ({"a": None}, "a", ""),
    ],
    ids=repr,
)
def test_a_path_goes_through_objects_and_lists(tmp_path: Path, data: object, key: str, expected: str) -> None:
    assert contents(JSONLoader(write(tmp_path / "a.json", json.dumps(data)), content_key=key)) == [expected]


@pytest.mark.parametrize("key", ["b", "a.1", "a.x", "a.0.c", "a.-1"])
def test_a_record_without_its_text_is_an_error(tmp_path: Path, key: str) -> None:
    path = write(tmp_path / "a.json", '[{"a": ["x"]}]')
    with pytest.raises(DocumentError, match=r"a\.json, record 1: it has nothing under"):
        JSONLoader(path, content_key=key).load()
    with pytest.raises(DocumentError, match=r"a\.json: it has nothing under 'rows' \(records=\)"):
        JSONLoader(path, records="rows").load()
    assert list_open(path) == []


@given(values=st.lists(VALUES, min_size=1), indent=st.sampled_from([None, 2]))
def test_every_value_comes_through(tmp_path_factory: pytest.TempPathFactory, values: list[object], indent: int) -> None:
    """In both forms; the lazy reader of lists reads what Python's does."""
    folder = tmp_path_factory.getbasetemp()
    expected = [
        (value or "") if isinstance(value, str | None) else json.dumps(value, ensure_ascii=False) for value in values
    ]
    assert contents(JSONLoader(write(folder / "any.json", f" {json.dumps(values, indent=indent)}\n"))) == expected
    lines = "\r\n".join(map(json.dumps, values)) + "\n\n"
    assert contents(JSONLoader(write(folder / "any.jsonl", lines))) == expected


@given(text=st.text('[],: \n{}"a1', min_size=1, max_size=12))
def test_what_python_refuses_is_an_error(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    """And nothing else is."""
    path = write(tmp_path_factory.getbasetemp() / "any.json", text)
    documents, error = load_until_error(JSONLoader(path))
    try:
        value = json.loads(text)
    except ValueError:
        assert error is not None and error.path == path
    else:
        assert error is None
        assert len(documents) == (len(value) if isinstance(value, list) else 1)


@pytest.mark.parametrize("at", range(0, 54, 3))
def test_a_cut_file_is_an_error(tmp_path: Path, at: int) -> None:
    """Wherever it was cut, after the records before it."""
    text = json.dumps([{"name": "Ada"}, {"name": "Bob"}, ["x", 1], "end", 1.5])
    documents, error = load_until_error(JSONLoader(write(tmp_path / "a.json", text[:at] or " ")))
    assert error is not None and error.place == "line 1"
    assert len(documents) <= 5


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        (
            "a.json",
            "[1,\n2,\nx]",
            r"line 3: it is no JSON \(Expecting value at character 1\); mend it, or give json_lines",
        ),
        ("a.json", '{"a": 1}\n{"a": 2}', r"line 2: it is no JSON \(Extra data .* json_lines=True"),
        ("a.jsonl", '1\n{"a": \n3', r"line 2: it is no JSON"),
        ("a.json", "[" * 100_000, "it is JSON that is not read"),
        ("a.json", "[" + "9" * 5_000 + "]", "it is JSON that is not read"),
        ("a.jsonl", "[" * 100_000, "line 1: it is JSON that is not read"),
        ("a.json", "", "it is empty"),
        ("a.json", '["a", "\\ud800"]', "record 2: it has half of a surrogate pair"),
        ("a.jsonl", '{"a": {"\\udfff": 1}}', "line 1: it has half of a surrogate pair"),
        ("a.jsonl", '{"": "x", "b": ["\\udfff"]}', "line 1: it has half of a surrogate pair"),
    ],
    ids=lambda value: repr(value)[:30],
)
def test_what_is_no_json_is_an_error_that_says_where(tmp_path: Path, name: str, text: str, problem: str) -> None:
    path = write(tmp_path / name, text)
    with pytest.raises(DocumentError, match=problem):
        JSONLoader(path).load()
    assert list_open(path) == []


def test_half_characters_are_refused_in_metadata_too(tmp_path: Path) -> None:
    loader = JSONLoader(
        write(tmp_path / "a.json", '[{"a": "x", "b": ["\\udfff"]}]'), content_key="a", metadata_keys=["b"]
    )
    with pytest.raises(DocumentError, match="record 1: it has half of a surrogate pair"):
        loader.load()


def test_lines_need_no_name(tmp_path: Path) -> None:
    path = write(tmp_path / "a.log", '{"a": 1}\n{"a": 2}\n')
    assert contents(JSONLoader(path, json_lines=True, content_key="a")) == ["1", "2"]


def test_lines_have_no_limit_of_size(tmp_path: Path) -> None:
    """They are read as they are asked for."""
    path = write(tmp_path / "a.jsonl", '"x"\n' * 10)
    assert len(JSONLoader(path, max_bytes=5).load()) == 10
