"""An MCP server of the standard library alone, which starts in no time and speaks the protocol of 2025, by hand.

Run as ``python bare_server.py MARK [HABIT]``: the mark tells its process from others; a habit is "die" (at the start, with
exit code 3), "mute" (never answers), "stubborn" (does not end with its input, and forks a child that does not either) or
"mortal" (has tools that write a line to a file, and die).
"""

import json
import os
import sys
import threading
import time

TOOLS = {
    "add": {"a": {"type": "integer"}, "b": {"type": "integer"}},
    "wait": {"seconds": {"type": "number"}},
    "list.cancelled": {},
    "count.waits": {},
    "environ": {},
    "crash": {},
}

MORTAL = {"die": {"path": {"type": "string"}}, "die.again": {"path": {"type": "string"}}}

cancelled: list[object] = []
waits: list[float] = []
lock = threading.Lock()


def send(**message: object) -> None:
    with lock:
        print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def call(name: str, arguments: dict[str, float]) -> object:
    if name == "add":
        return arguments["a"] + arguments["b"]
    if name == "wait":
        waits.append(arguments["seconds"])
        time.sleep(arguments["seconds"])
    if name == "list.cancelled":
        return cancelled
    if name == "count.waits":
        return len(waits)
    if name == "environ":
        return sorted(os.environ)
    if name in MORTAL:
        with open(arguments["path"], "a+") as file:
            file.write(f"{name}\n")
            file.seek(0)
            lines = len(file.readlines())
        if lines > 2:
            return "survived"
    if name == "crash" or name in MORTAL:
        os.kill(os.getpid(), 9)
    return "done"


PICTURE = {"type": "image", "data": "aGk=", "mimeType": "image/png"}
PROMPT = {"name": "greet", "arguments": [{"name": "whom", "required": True}]}


def read(method: str, params: dict[str, object]) -> dict[str, object] | None:
    """Return what a resource or a prompt, or a list of them, is; None: there is none."""
    if method == "resources/list":
        first = {"uri": "memo://a", "name": "a"}
        is_first = params.get("cursor") is None
        return (
            {"resources": [first], "nextCursor": "b"} if is_first else {"resources": [{"uri": "memo://b", "name": "b"}]}
        )
    if method == "resources/read" and params["uri"] == "memo://a":
        contents = [
            {"uri": "memo://a", "text": "read memo://a"},
            {"uri": "memo://a", "blob": "aGk=", "mimeType": "image/png"},
        ]
        return {"contents": contents}
    if method == "prompts/list":
        return {"prompts": [PROMPT]}
    if method == "prompts/get":
        said = {"type": "text", "text": f"Greet {params['arguments']['whom']}."}  # type: ignore[index]
        return {"messages": [{"role": "user", "content": said}, {"role": "assistant", "content": PICTURE}]}
    return None


def answer(request: dict[str, object]) -> None:
    method, params = request["method"], request.get("params", {})
    if method == "initialize":
        server = {"name": "bare", "version": "1"}
        send(
            id=request["id"],
            result={"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": server},
        )
    elif method == "tools/list":
        tools = MORTAL if "mortal" in sys.argv else TOOLS
        listed = [
            {
                "name": name,
                "inputSchema": {"type": "object", "properties": schema, "required": list(schema)},
                "annotations": {"idempotentHint": name == "die.again"},
            }
            for name, schema in tools.items()
        ]
        send(id=request["id"], result={"tools": listed})
    elif method == "tools/call":
        text = json.dumps(call(params["name"], params.get("arguments", {})))  # type: ignore[index, attr-defined]
        if request["id"] not in cancelled:
            send(id=request["id"], result={"content": [{"type": "text", "text": text}]})
    elif (found := read(method, params)) is not None:  # type: ignore[arg-type]
        send(id=request["id"], result=found)
    elif method == "resources/read":
        send(id=request["id"], error={"code": -32002, "message": "no such resource"})
    else:
        send(id=request["id"], error={"code": -32601, "message": "Method not found"})


def serve() -> None:
    for line in sys.stdin:
        request = json.loads(line)
        if request["method"] == "notifications/cancelled":
            cancelled.append(request["params"]["requestId"])
        elif "id" in request:
            threading.Thread(target=answer, args=(request,), daemon=True).start()


if __name__ == "__main__":
    habit = sys.argv[2] if len(sys.argv) > 2 else ""
    if habit == "die":
        sys.exit(3)
    if habit in ("mute", "stubborn"):
        if habit == "stubborn":
            os.fork()
            threading.Thread(target=serve, daemon=True).start()
        time.sleep(600)
    serve()
