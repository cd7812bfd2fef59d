"""Prompts in files: what is written is read again, and what a stranger's file may not do."""

import json
import sys
from pathlib import Path

import pytest

from hocket.errors import InvalidInput, MissingDependency
from hocket.prompts import (
    ChatPromptTemplate,
    FewShotPromptTemplate,
    LengthBasedExampleSelector,
    PromptTemplate,
    load_prompt,
    load_prompt_from_config,
)


@pytest.mark.parametrize("name", ["p.json", "below/p.yaml", "p.yml"])
def test_what_is_saved_is_loaded(name: str, tmp_path: Path) -> None:
    """Equal, with all that was said of it."""
    prompt = PromptTemplate.from_template("Ä {x}", metadata={"who": "me"}, tags=["t"])
    prompt.save(tmp_path / name)
    assert load_prompt(tmp_path / name) == prompt


def test_examples_are_saved_with_their_prompt(tmp_path: Path) -> None:
    """A few-shot prompt comes back whole."""
    example = PromptTemplate.from_template("Q: {q}")
    prompt = FewShotPromptTemplate(examples=[{"q": "1"}], example_prompt=example, prefix="P", suffix="{z}")
    prompt.save(tmp_path / "few.json")
    assert load_prompt(tmp_path / "few.json") == prompt


LANGCHAINS = """{"name": null, "input_variables": ["z"], "optional_variables": [], "output_parser": null,
"partial_variables": {}, "metadata": null, "tags": null, "examples": [{"q": "1"}], "example_selector": null,
"validate_template": false, "example_prompt": {"name": null, "input_variables": ["q"], "optional_variables": [],
"output_parser": null, "partial_variables": {}, "metadata": null, "tags": null, "template": "Q {q}",
"template_format": "f-string", "validate_template": false}, "suffix": "S {z}", "example_separator": "\\n\\n",
"prefix": "P", "template_format": "f-string", "_type": "few_shot"}"""


def test_what_langchain_saved_is_loaded(tmp_path: Path) -> None:
    """langchain-core 1.7.2 wrote this."""
    (tmp_path / "few.json").write_text(LANGCHAINS)
    assert load_prompt(tmp_path / "few.json").format(z=2) == "P\n\nQ 1\n\nS 2"


def test_what_cannot_be_saved_says_so_and_leaves_no_file(tmp_path: Path) -> None:
    """With the way out."""
    example = PromptTemplate.from_template("{q}")
    selector = LengthBasedExampleSelector(examples=[{"q": "1"}], example_prompt=example)
    for prompt, said in [
        (ChatPromptTemplate.from_messages([("human", "{x}")]), r"hocket\.load\.dumps"),
        (PromptTemplate.from_template("{x}").partial(x=1), r"beforehand \(x\)"),
        (FewShotPromptTemplate(example_selector=selector, example_prompt=example, suffix="s"), "example_selector"),
    ]:
        with pytest.raises(InvalidInput, match=said):
            prompt.save(tmp_path / "p.json")
    with pytest.raises(InvalidInput, match=r"its suffix is \.json"):
        example.save(tmp_path / "p.txt")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({"template": "x", "output_parser": {"_type": "regex"}}, "write prompt | parser"),
        ({"_type": "chat", "messages": []}, "type 'chat' is not read from such a file"),
        ({"template": "{{ x }}", "template_format": "jinja2"}, "can run code"),
        ({"_type": "few_shot", "template_format": "jinja2", "suffix": "x"}, "can run code"),
        ({"template_path": "/etc/passwd"}, "outside of the working directory"),
        ({"template_path": "a/../../b.txt"}, "allow_dangerous_paths=True"),
        ({"_type": "few_shot", "suffix": "x", "example_prompt_path": "/a.json"}, "outside of the working directory"),
        ({"_type": "few_shot", "suffix": "x"}, "example_prompt describes no prompt"),
        ([], "describes no prompt: it is a mapping, not list"),
    ],
)
def test_what_is_no_prompt_or_reaches_too_far_is_refused(config: dict[str, object], said: str) -> None:
    """A file may be a stranger's."""
    with pytest.raises(InvalidInput, match=said):
        load_prompt_from_config(config)


def test_a_template_that_is_a_link_to_something_else_is_refused(tmp_path: Path) -> None:
    """What counts is where the link leads."""
    (tmp_path / "key.pem").write_text("secret")
    (tmp_path / "t.txt").symlink_to(tmp_path / "key.pem")
    with pytest.raises(InvalidInput, match=r"its suffix is \.txt"):
        load_prompt_from_config({"template_path": str(tmp_path / "t.txt")}, allow_dangerous_paths=True)


def test_files_below_the_working_directory_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Templates, examples, and the prompt of an example."""
    monkeypatch.chdir(tmp_path)
    Path("s.txt").write_text("S {z}")
    Path("e.yaml").write_text("- q: 1\n- q: 2\n")
    PromptTemplate.from_template("Q {q}").save("q.json")
    files = {"suffix_path": "s.txt", "examples": "e.yaml", "example_prompt_path": "q.json"}
    config = {"_type": "few_shot", **files}
    assert load_prompt_from_config(config).format(z=3) == "Q 1\n\nQ 2\n\nS 3"
    assert config == {"_type": "few_shot", **files}


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    """JSON and YAML alike."""
    for name in ("p.json", "p.yaml"):
        (tmp_path / name).write_text("{")
        with pytest.raises(InvalidInput, match=rf"{name} is no"):
            load_prompt(tmp_path / name)
    (tmp_path / "list.json").write_text(json.dumps([1]))
    with pytest.raises(InvalidInput, match=r"list\.json describes no prompt"):
        load_prompt(tmp_path / "list.json")
    with pytest.raises(InvalidInput, match="prompts are not fetched"):
        load_prompt("lc://prompts/a.json")


def test_yaml_names_what_is_to_be_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And JSON needs nothing."""
    monkeypatch.setitem(sys.modules, "yaml", None)
    with pytest.raises(MissingDependency, match=r"pip install 'hocket\[yaml\]'"):
        PromptTemplate.from_template("x").save(tmp_path / "p.yaml")


def test_a_link_that_leads_out_of_the_working_directory_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who wrote the folder may have made it; one within the directory is followed."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    Path("../secret.txt").write_text("secret")
    Path("t.txt").write_text("T")
    for name, target in (("out.txt", "../secret.txt"), ("up", ".."), ("in.txt", "t.txt")):
        Path(name).symlink_to(target)
    for path in ("out.txt", "up/secret.txt"):
        with pytest.raises(InvalidInput, match="outside of the working directory"):
            load_prompt_from_config({"template_path": path})
    assert load_prompt_from_config({"template_path": "in.txt"}).format() == "T"


def test_what_has_no_end_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Aliases of YAML that stand for too much or for themselves, JSON without a bottom, a prompt that is its own example."""
    monkeypatch.chdir(tmp_path)
    bomb = "a0: &a0 [x, x]\n" + "".join(f"a{n}: &a{n} [{f'*a{n - 1}, ' * 9}]\n" for n in range(1, 9))
    itself = {"_type": "few_shot", "example_prompt_path": "itself.json", "examples": [], "suffix": "x"}
    for name, text, said in (
        ("bomb.yaml", f"{bomb}template: *a8", "more than 100,000 values"),
        ("loop.yaml", "template: &a [*a]", "more than 100,000 values"),
        ("date.yaml", "template: 2001-99-99", "no text of plain YAML"),
        ("int.yaml", "template: !!int ''", "no text of plain YAML"),
        ("deep.json", "[" * 100_000, "is no JSON"),
        ("itself.json", json.dumps(itself), "the prompt of its examples is itself"),
    ):
        Path(name).write_text(text)
        with pytest.raises(InvalidInput, match=said):
            load_prompt(name)
