"""Skills are folders of instructions; the model sees their names, and one tool gives the rest, and nothing beyond."""

import os
import sys
import threading
from pathlib import Path

import anyio.to_thread
import pytest

from hocket import InMemoryChatMessageHistory, ScriptedChatModel, Turn
from hocket.agents import ToolSearch, create_agent
from hocket.agents.skills import make_skill_tool, read_skills
from hocket.errors import InvalidInput, MissingDependency, ToolException
from hocket.messages import ToolCall, ToolMessage
from hocket.tools import BaseTool

PDF = """---
name: pdf-forms
# for the reader of this file
description: Fill in PDF forms: text, boxes and dates

license: MIT
---

# Forms

Read `fields.md` first.
---
The end.
"""


def write(folder: Path, name: str, text: str = "", **files: str | bytes) -> Path:
    """Write a skill and its further files; return its folder."""
    skill = folder / name
    skill.mkdir(parents=True)
    (skill / "SKILL.md").write_text(text or f"---\nname: {name}\ndescription: About {name}.\n---\nDo it.", "utf-8")
    for file, content in files.items():
        path = skill / file.replace("__", "/").replace("_", ".")
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return skill


def read(id: str, name: str, file: str | None = None) -> ToolCall:
    """Return a call that reads a skill, or a file of it."""
    return ToolCall(type="tool_call", name="load_skill", args={"name": name, "file": file}, id=id)


async def make(folder: Path) -> BaseTool:
    """Return the tool, made in a worker thread."""
    return await anyio.to_thread.run_sync(make_skill_tool, folder)


async def test_the_model_reads_a_skill_and_a_file_of_it(tmp_path: Path):
    """The tool shows names and descriptions; it gives the instructions without their front matter, and files as they are."""
    write(tmp_path, "pdf", PDF, fields_md="a box", more__dates_md="ISO")
    write(tmp_path, "mail")
    (tmp_path / "notes").mkdir()
    (tmp_path / "README.md").write_text("no skill")
    tool = await make(tmp_path)
    calls = [
        read("1", "pdf-forms"),
        read("2", "pdf-forms", "fields.md"),
        read("3", "pdf-forms", "more/../more/dates.md"),
        read("4", "mail", None),
    ]
    model = ScriptedChatModel(script=[Turn(tool_calls=calls), "Done."])
    result = await create_agent(model, [tool]).ainvoke("Fill it in.")
    body = "# Forms\n\nRead `fields.md` first.\n---\nThe end."
    assert [step.observation for step in result.steps] == [body, "a box", "ISO", "Do it."]
    assert tool.description.endswith(
        "The skills:\n- mail: About mail.\n- pdf-forms: Fill in PDF forms: text, boxes and dates"
    )
    assert set(tool.args) == {"name", "file"}


async def test_files_are_read_in_threads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Those that the model asks for, though the tool is a plain function."""
    write(tmp_path, "pdf", fields_md="a box")
    threads: list[int] = []
    resolve = Path.resolve

    def note(path: Path, strict: bool = False) -> Path:
        threads.append(threading.get_ident())
        return resolve(path, strict)

    monkeypatch.setattr(Path, "resolve", note)
    tool = await make(tmp_path)
    threads.clear()
    assert await tool.ainvoke({"name": "pdf", "file": "fields.md"}) == "a box"
    assert threads and threading.get_ident() not in threads


def test_several_folders_are_read_in_their_order(tmp_path: Path):
    """And their skills by name."""
    for place, name in (("two", "b"), ("two", "a"), ("one", "c")):
        write(tmp_path / place, name)
    assert [skill.name for skill in read_skills([tmp_path / "two", str(tmp_path / "one")])] == ["a", "b", "c"]


def test_many_skills_are_shown_by_their_names_alone(tmp_path: Path):
    """From 31 on; of 30 the descriptions are shown, 200 characters of each."""
    for number in range(30):
        write(tmp_path, f"s{number:02}", f"---\nname: s{number:02}\ndescription: {'long ' * 200}\n---\n")
    lines = make_skill_tool(tmp_path).description.splitlines()
    assert len(lines) == 31 and lines[1] == f"- s00: {('long ' * 200)[:200]}…"
    write(tmp_path, "s30")
    assert make_skill_tool(tmp_path).description.endswith(", ".join(f"s{number:02}" for number in range(31)))


OUTSIDE = [
    "../secret.txt",
    "/etc/hostname",
    "link.txt",
    "linked/secret.txt",
    "more/../../secret.txt",
    "../pdf2/SKILL.md",
]


@pytest.mark.parametrize("file", OUTSIDE)
def test_no_path_leads_out_of_the_folder(tmp_path: Path, file: str):
    """Up, from the root, by links of a file and of a folder, into another skill whose name begins alike."""
    (tmp_path / "secret.txt").write_text("secret")
    skill = write(tmp_path, "pdf", more__a_md="a")
    write(tmp_path, "pdf2")
    (skill / "link.txt").symlink_to(tmp_path / "secret.txt")
    (skill / "linked").symlink_to(tmp_path)
    with pytest.raises(ToolException, match="leads out of the folder") as refused:
        make_skill_tool(tmp_path).invoke({"name": "pdf", "file": file})
    assert "secret." not in str(refused.value).replace(repr(file), "")


def test_a_link_inside_the_folder_is_followed(tmp_path: Path):
    """It shows what the skill may show anyway; so does a link of a whole folder of skills, which the user has put there."""
    skill = write(tmp_path / "real", "pdf", a_md="a")
    (skill / "b.md").symlink_to("a.md")
    (tmp_path / "skills").symlink_to(tmp_path / "real")
    assert make_skill_tool(tmp_path / "skills").invoke({"name": "pdf", "file": "b.md"}) == "a"


def test_a_skill_that_is_a_link_out_is_refused(tmp_path: Path):
    """Its folder or its instructions: whoever packed it may want to show what is elsewhere."""
    write(tmp_path / "elsewhere", "pdf")
    (tmp_path / "skills").mkdir()
    (link := tmp_path / "skills" / "pdf").symlink_to(tmp_path / "elsewhere" / "pdf")
    with pytest.raises(InvalidInput, match="is a link out of"):
        make_skill_tool(tmp_path / "skills")
    link.unlink()
    link.mkdir()
    (link / "SKILL.md").symlink_to(tmp_path / "elsewhere" / "pdf" / "SKILL.md")
    with pytest.raises(InvalidInput, match="leads out of the folder"):
        make_skill_tool(tmp_path / "skills")


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no pipes in folders")
def test_what_is_no_text_file_is_refused(tmp_path: Path):
    """The model is told: nothing there, a folder, bytes, a megabyte, a pipe, an impossible name, an unknown skill."""
    skill = write(
        tmp_path, "pdf", more__a_md="a", raw_bin=b"\xff\x00", large_txt="ü" * 500_001, full_txt="a" * 1_000_000
    )
    os.mkfifo(skill / "pipe")
    tool = make_skill_tool(tmp_path)
    wrong = {
        "none.md": "cannot be read: No such file",
        "more": "is no file",
        "": "is no file",
        "raw.bin": "is no text in UTF-8",
        "large.txt": "larger than 1,000,000 bytes",
        "pipe": "is no file",
        "a\0b": "cannot be read",
        "a" * 5_000: "cannot be read",
    }
    for file, reason in wrong.items():
        with pytest.raises(ToolException, match=reason) as refused:
            tool.invoke({"name": "pdf", "file": file})
        assert len(str(refused.value)) < 300
    with pytest.raises(ToolException, match="did you mean 'pdf'"):
        tool.invoke({"name": "pdfs"})
    assert len(tool.invoke({"name": "pdf", "file": "full.txt"})) == 1_000_000


BROKEN = {
    "# No front matter": "line 1: a skill begins with",
    "": "line 1: a skill begins with",
    "---\nname: a\ndescription: b\n": "line 1: a skill begins with",
    "\n---\nname: a\ndescription: b\n---\n": "line 1: a skill begins with",
    "---\nname: Pdf Forms\ndescription: b\n---\n": "line 2: name is 'Pdf Forms'; it is 1 to 64 characters",
    "---\n# c\n\nname: " + "a" * 65 + "\ndescription: b\n---\n": "line 4: name is 'aaa",
    "---\ndescription: b\n---\n": "line 1: name is None",
    "---\nname: a\n---\n": "line 1: description is None",
    "---\nname: a\ndescription: " + "b" * 1025 + "\n---\n": "line 3: description is 'bbb",
    "---\nname: a\ndescription:\n---\n": "line 3: description is None",
    "---\nname: a\ndescription: [b]\n---\n": r"line 3: description is \['b'\]",
    "---\nname: a\ndescription: 'b\n---\n": "line 3: found unexpected end of stream",
    "---\nname: a\nmore:\n  - b: [\n---\n": "line 4: ",
    "---\n- name\n---\n": "line 2: a front matter is lines",
}


@pytest.mark.parametrize("text", BROKEN, ids=range(len(BROKEN)))
def test_a_mistake_is_found_when_the_tool_is_made(tmp_path: Path, text: str):
    """With the file and the line."""
    (skill := tmp_path / "pdf").mkdir()
    (skill / "SKILL.md").write_text(text)
    with pytest.raises(InvalidInput, match=BROKEN[text]) as found:
        make_skill_tool(tmp_path)
    assert str(skill / "SKILL.md") in str(found.value)


def test_folders_without_skills_and_equal_names_are_refused(tmp_path: Path):
    """And bytes that are no text."""
    with pytest.raises(InvalidInput, match="it is not there"):
        make_skill_tool(tmp_path / "none")
    with pytest.raises(InvalidInput, match="no folder in it has"):
        make_skill_tool(tmp_path)
    write(tmp_path, "pdf")
    write(tmp_path, "other", "---\nname: pdf\ndescription: b\n---\n")
    with pytest.raises(InvalidInput, match="two skills are called 'pdf'"):
        make_skill_tool(tmp_path)
    (tmp_path / "pdf" / "SKILL.md").write_bytes(b"---\nname: \xff\n---\n")
    with pytest.raises(InvalidInput, match="no text in UTF-8"):
        make_skill_tool(tmp_path)


RICH = """\ufeff---\r
name: "pdf"\r
description: >-\r
  Fill in\r
  PDF forms\r
metadata: {version: 2}\r
---\r
Body.\r
"""


def test_yaml_is_read_by_its_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Where it is more than plain lines; without the package the file, the line and the extra are named."""
    write(tmp_path, "pdf", RICH)
    (skill,) = read_skills(tmp_path)
    assert (skill.name, skill.description, skill.body) == ("pdf", "Fill in PDF forms", "Body.")
    monkeypatch.setitem(sys.modules, "yaml", None)
    with pytest.raises(MissingDependency, match=r"SKILL.md, line 2: .*hocket\[yaml\]"):
        read_skills(tmp_path)


@pytest.mark.parametrize(
    "value", ["plain", "a: b, c", "a#b", "C++ (and C#)", "it's", "über", "12", "true", "x - y", "http://x.y/z", "a\\n"]
)
def test_plain_lines_need_no_package(tmp_path: Path, value: str, monkeypatch: pytest.MonkeyPatch):
    """Their values are texts, as they stand."""
    monkeypatch.setitem(sys.modules, "yaml", None)
    write(tmp_path, "pdf", f"---\nname: pdf\ndescription:   {value}  \n---\n")
    assert read_skills(tmp_path)[0].description == value


@pytest.mark.parametrize(
    "value", ["a # b", "'a'", '"a"', "[a]", "{a}", "> a", "| a", "&a b", "*a", "!a", "%a", "@a", "# a"]
)
def test_what_yaml_reads_in_another_way_is_left_to_it(tmp_path: Path, value: str, monkeypatch: pytest.MonkeyPatch):
    """It is never taken for a plain text."""
    monkeypatch.setitem(sys.modules, "yaml", None)
    write(tmp_path, "pdf", f"---\nname: pdf\ndescription: {value}\n---\n")
    with pytest.raises(MissingDependency, match="line 3"):
        read_skills(tmp_path)


@pytest.mark.parametrize(
    "name", ["*a8", "&b [*b]", "!!int ''", "!!timestamp x"], ids=["aliases", "itself", "int", "date"]
)
def test_yaml_without_end_is_refused(tmp_path: Path, name: str):
    """In a moment: a skill may come from a stranger, and a few lines may stand for millions of values."""
    lines = ["a0: &a0 [x, x]", *(f"a{n}: &a{n} [{f'*a{n - 1}, ' * 9}]" for n in range(1, 9))] if "8" in name else []
    write(tmp_path, "pdf", "\n".join(["---", *lines, f"name: {name}", "description: x", "---"]))
    with pytest.raises(InvalidInput, match=r"SKILL.md, (line \d+: it stands for more|it is no text of plain YAML)"):
        read_skills(tmp_path)


async def test_a_failure_is_told_to_the_model(tmp_path: Path):
    """And the run goes on."""
    write(tmp_path, "pdf")
    script = [Turn(tool_calls=[read("1", "pdf", "../x")]), "Done."]
    result = await create_agent(ScriptedChatModel(script=script), [await make(tmp_path)]).ainvoke("go")
    (told,) = [one for one in result.messages if isinstance(one, ToolMessage)]
    assert (told.status, result.output) == ("error", "Done.")
    assert "leads out" in told.text


def test_an_agent_may_have_skills(tmp_path: Path) -> None:
    """It has a tool more, and a folder that cannot be used is refused when the agent is made."""
    (tmp_path / "refunds").mkdir()
    (tmp_path / "refunds" / "SKILL.md").write_text(
        "---\nname: refunds\ndescription: How to pay back.\n---\nAsk first.\n"
    )
    load = {"type": "tool_call", "name": "load_skill", "args": {"name": "refunds"}, "id": "1"}
    agent = create_agent(ScriptedChatModel(script=[Turn(tool_calls=[load]), "Done."]), skills=tmp_path)
    assert agent.invoke("go").steps[0].observation == "Ask first."
    with pytest.raises(InvalidInput, match="is no folder of skills"):
        create_agent(ScriptedChatModel(script=[]), skills=[tmp_path / "none"])


async def test_in_a_loop_skills_are_read_at_the_first_run_in_a_thread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Once, however often and however the agent is run."""
    write(tmp_path, "pdf")
    threads: list[int] = []
    glob = Path.glob

    def note(path: Path, pattern: str) -> object:
        threads.append(threading.get_ident())
        return glob(path, pattern)

    monkeypatch.setattr(Path, "glob", note)
    model = ScriptedChatModel(script=["Done.", "Done."])
    agent = create_agent(model, skills=tmp_path)
    assert threads == []
    await agent.ainvoke("go")
    await agent.ainvoke("go", response_format=None)
    assert len(threads) == 1 and threads[0] != threading.get_ident()
    for request in model.requests:
        (tool,) = request.params["tools"]
        assert tool["function"]["description"].endswith("- pdf: About pdf.")


async def test_in_a_loop_a_mistake_is_found_at_the_first_run(tmp_path: Path):
    """The file and the line are named, and nothing is sent or stored; names are checked when the agent is made."""
    skill = write(tmp_path, "pdf", "---\nname: a b\n---\n")
    model, history = ScriptedChatModel(script=[]), InMemoryChatMessageHistory()
    agent = create_agent(model, skills=tmp_path)
    with pytest.raises(InvalidInput, match="line 2: name is 'a b'") as found:
        await agent.ainvoke("go", history=history)
    assert str(skill / "SKILL.md") in str(found.value)
    assert (model.requests, history.messages) == ([], [])
    with pytest.raises(InvalidInput, match="two tools are called 'load_skill'"):
        create_agent(model, [await make(write(tmp_path / "more", "b").parent)], skills=tmp_path)


NUMBERS = {"s30": "Bake bread at home.", "s31": "Repair a bicycle."}


def make_many(folder: Path) -> None:
    """Write 32 skills: two of them are for something."""
    for number in range(32):
        name = f"s{number:02}"
        write(folder, name, f"---\nname: {name}\ndescription: {NUMBERS.get(name, 'Count.')}\n---\nBody of {name}.")


def find(id: str, **arguments: object) -> ToolCall:
    """Return a call that finds tools and skills."""
    return ToolCall(type="tool_call", name="find_tools", args=arguments, id=id)


async def test_skills_that_are_not_described_are_found(tmp_path: Path):
    """Of more than 30, by what they are for, or by their names; no tool is found thereby."""
    make_many(tmp_path)
    script = [Turn(tool_calls=[find("1", query="bicycle"), find("2", names=["s30", "s99"])]), "Done."]
    model = ScriptedChatModel(script=script, profile={"tool_search": True})
    result = await create_agent(model, skills=tmp_path, defer=ToolSearch(embeddings=None)).ainvoke("go")
    told = [one for one in result.messages if isinstance(one, ToolMessage)]
    assert [one.text for one in told] == [
        "load_skill(name='s31'): Repair a bicycle.",
        "load_skill(name='s30'): Bake bread at home.\n"
        "There is no tool 's99'; the nearest name is \"load_skill(name='s29')\".",
    ]
    assert [one.response_metadata for one in told] == [{"found_tools": []}] * 2
    load, finder = (tool["function"] for tool in model.requests[-1].params["tools"])
    assert (load["name"], finder["name"]) == ("load_skill", "find_tools")
    assert finder["description"].endswith("\nload_skill: 32 skills, which are found by what they are for")


async def test_skills_and_tools_are_found_together(tmp_path: Path):
    """A find on the wire has no place for skills: so hocket finds, also for models that can."""
    make_many(tmp_path)

    def tyres(size: int) -> str:
        """Order tyres for a bicycle."""
        return f"{size}"

    script = [Turn(tool_calls=[find("1", query="bicycle")]), "Done."]
    model = ScriptedChatModel(script=script, profile={"tool_search": True})
    result = await create_agent(model, [tyres], skills=tmp_path, defer=ToolSearch(True, embeddings=None)).ainvoke("go")
    (told,) = [one for one in result.messages if isinstance(one, ToolMessage)]
    assert {*told.text.splitlines()} == {
        "load_skill(name='s31'): Repair a bicycle.",
        "tyres: Order tyres for a bicycle.",
    }
    assert told.response_metadata == {"found_tools": ["tyres"]}
    offered = [[tool["function"]["name"] for tool in request.params["tools"]] for request in model.requests]
    assert offered == [["load_skill", "find_tools"], ["load_skill", "find_tools", "tyres"]]


async def test_skills_in_view_are_not_searched(tmp_path: Path):
    """Of 30 the model is shown all descriptions."""
    for number in range(30):
        write(tmp_path, f"s{number:02}")
    model = ScriptedChatModel(script=["Done."])
    await create_agent(model, skills=tmp_path).ainvoke("go")
    assert [tool["function"]["name"] for tool in model.requests[0].params["tools"]] == ["load_skill"]
