"""A Qdrant server, as near to a real one as PyPI has it: Qdrant's own engine, and its own definition of the REST API.

The server itself is on no registry. `qdrant-edge-py` is its engine, written in Rust, for one collection in this process:
points, filters, indexes and searches are the server's. `qdrant-client` has a class for each body of a request, made from the
API's definition, which refuses a field that is not in it; the server would not look at it. What is between them is here:
HTTP, and which collections there are. Here requests come one after another, where a server takes several at once.

Run as a program, with the packages' folder on its path, it prints its URL, and stops when its standard input ends.
"""

import asyncio
import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

__all__ = ["KEY", "PACKAGES", "start_qdrant"]

PACKAGES = [
    "grpcio==1.85.3",
    "portalocker==4.4.2",
    "protobuf==7.36.2",
    "qdrant-client==1.20.0",
    "qdrant-edge-py==0.9.0",
]
"""What is installed; the others that the client needs are here already."""

KEY = "canary-q5d1"
"""The key that the server wants, of collections whose names begin with ``locked``."""


@contextmanager
def start_qdrant(home: Path) -> Iterator[str]:
    """Return a context with the URL of a server, which ends with the context, or with this process.

    Args:
        home: where the packages are installed.
    """
    process = subprocess.Popen(
        [sys.executable, __file__, str(home)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,  # Ctrl-C is not for it
    )
    assert process.stdout is not None
    try:
        url = process.stdout.readline().strip()
        if not url:
            raise RuntimeError(f"Qdrant did not start: {process.communicate()[1][-1000:]}")
        yield url
    finally:
        process.communicate()


class Refusal(Exception):
    """What the server answers a request that it does not carry out: a status, and what it says."""


class Shelf:
    """The collections, each an engine of its own."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.engines: dict[str, Any] = {}
        self.folders: dict[str, Path] = {}
        self.configs: dict[str, dict[str, Any]] = {}
        self.count = 0

    def answer(self, method: str, path: str, body: Any) -> Any:
        """Return the result of a request."""
        _, _, name, *rest = urlsplit(path).path.split("/")
        if method == "PUT" and not rest:
            return self.make(name, body)
        if name not in self.engines:
            raise Refusal(404, f"Not found: Collection `{name}` doesn't exist!")
        engine = self.engines[name]
        match method, "/".join(rest):
            case "GET", "":
                schema = {field: {"data_type": "keyword", "points": 0} for field in engine.info().payload_schema}
                return {"status": "green", "config": self.configs[name], "payload_schema": schema}
            case "DELETE", "":
                self.engines.pop(name).close()
                shutil.rmtree(self.folders.pop(name))
                return True
            case "PUT", "index":
                asked = models.CreateFieldIndex.model_validate(body)
                kind = getattr(edge.PayloadSchemaType, str(asked.field_schema.value).capitalize())
                engine.update(edge.UpdateOperation.create_field_index(asked.field_name, kind))
            case "PUT", "points":
                listed = models.PointsList.model_validate(body)
                points = [edge.Point(one.id, _read_vectors(one.vector), one.payload) for one in listed.points]
                engine.update(edge.UpdateOperation.upsert_points(points))
            case "POST", "points/delete":
                engine.update(edge.UpdateOperation.delete_points(models.PointIdsList.model_validate(body).points))
            case "POST", verb:
                return READS[verb](engine, body)
            case _:
                raise Refusal(405, "Method not allowed")
        return {"operation_id": 0, "status": "completed"}

    def make(self, name: str, body: Any) -> bool:
        """Make a collection."""
        if name in self.engines:
            raise Refusal(409, f"Wrong input: Collection `{name}` already exists!")
        asked = models.CreateCollection.model_validate(body)
        self.count += 1
        folder = Path(self.folder, str(self.count))
        folder.mkdir()
        vectors = asked.vectors
        if not isinstance(vectors, dict):
            vectors = {"": vectors}
        config = edge.EdgeConfig(
            {
                key: edge.EdgeVectorParams(one.size, getattr(edge.Distance, one.distance.value))
                for key, one in vectors.items()
            },
            {key: edge.EdgeSparseVectorParams(modifier=edge.Modifier.Idf) for key in asked.sparse_vectors or ()},
            wal_enabled=False,
        )
        self.folders[name] = folder
        self.engines[name] = edge.EdgeShard.create(str(folder), config)
        params = {"vectors": body["vectors"], "sparse_vectors": body.get("sparse_vectors")}
        self.configs[name] = {"params": params, "metadata": body.get("metadata")}
        return True


def _query(engine: Any, body: Any) -> Any:
    asked = models.QueryRequest.model_validate(body)
    query = edge.Query.Nearest(_read_vector(asked.query), asked.using)
    exact = asked.params is not None and asked.params.exact
    found = engine.query(
        edge.QueryRequest(
            asked.limit,
            query=query,
            filter=_convert(asked.filter),
            params=edge.SearchParams(exact=bool(exact)),
            with_payload=_select(asked.with_payload),
            with_vector=asked.with_vector,
        )
    )
    return {"points": [{**_show(one), "version": one.version, "score": one.score} for one in found]}


def _retrieve(engine: Any, body: Any) -> Any:
    asked = models.PointRequest.model_validate(body)
    found = engine.retrieve(asked.ids, with_payload=_select(asked.with_payload), with_vector=asked.with_vector)
    return [_show(one) for one in found]


def _scroll(engine: Any, body: Any) -> Any:
    asked = models.ScrollRequest.model_validate(body)
    found, following = engine.scroll(
        edge.ScrollRequest(
            offset=asked.offset,
            limit=asked.limit,
            filter=_convert(asked.filter),
            with_payload=_select(asked.with_payload),
            with_vector=asked.with_vector or False,
        )
    )
    return {"points": [_show(one) for one in found], "next_page_offset": following and str(following)}


READS = {"points": _retrieve, "points/query": _query, "points/scroll": _scroll}


def _convert(model: Any) -> Any:
    """Return a condition as the engine has it: its classes have the names of the API's, nearly all."""
    match type(model).__name__, model:
        case "NoneType", _:
            return None
        case "HasIdCondition", one:
            return edge.HasIdCondition(set(one.has_id))
        case "NestedCondition", one:
            return edge.NestedCondition(one.nested.key, _convert(one.nested.filter))
        case "Range", one:
            return edge.RangeFloat(**one.model_dump())
        case "Filter", one:
            parts = {name: getattr(one, name) for name in ("must", "should", "must_not")}
            return edge.Filter(
                **{name: None if part is None else list(map(_convert, part)) for name, part in parts.items()}
            )
        case "FieldCondition", one:
            return edge.FieldCondition(one.key, match=_convert(one.match), range=_convert(one.range))
        case "MatchAny", one:
            return edge.MatchAny(one.any)
        case "MatchValue", one:
            return edge.MatchValue(one.value)
    raise Refusal(400, f"the tests' server does not know {model!r}")


def _select(selector: Any) -> Any:
    if isinstance(selector, models.PayloadSelectorExclude):
        return edge.PayloadSelector.Exclude(selector.exclude)
    return True if selector is None else selector


def _read_vectors(vectors: Any) -> Any:
    return {name: _read_vector(one) for name, one in vectors.items()} if isinstance(vectors, dict) else vectors


def _read_vector(vector: Any) -> Any:
    return edge.SparseVector(vector.indices, vector.values) if isinstance(vector, models.SparseVector) else vector


def _show(record: Any) -> Any:
    return {"id": str(record.id), "payload": record.payload, "vector": record.vector}


async def _serve(folder: str) -> None:
    shelf = Shelf(folder)

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                method, path, *_ = head.split()
                fields = {name.lower(): value for name, value in re.findall(r"(?m)^([\w-]+): (.*)\r$", head)}
                content = await reader.readexactly(int(fields.get("content-length", 0)))
                status, said = _answer(shelf, method, path, fields, content)
                writer.write(f"HTTP/1.1 {status} -\r\ncontent-length: {len(said)}\r\n\r\n".encode() + said)
                await writer.drain()
        writer.close()

    server = await asyncio.start_server(talk, "127.0.0.1", 0, limit=2**16)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", flush=True)
    await asyncio.to_thread(sys.stdin.read)


def _answer(shelf: "Shelf", method: str, path: str, fields: dict[str, str], content: bytes) -> tuple[int, bytes]:
    if path.startswith("/collections/locked") and fields.get("api-key") != KEY:
        return 401, b"Must provide an API key or an Authorization bearer token"
    try:
        result = shelf.answer(method, path, json.loads(content or "null"))
    except Refusal as refusal:
        status, said = refusal.args
    except Exception as error:  # what the models and the engine refuse
        status, said = 400, f"Wrong input: {error}"
    else:
        return 200, json.dumps({"result": result, "status": "ok", "time": 0.0}).encode()
    return status, json.dumps({"status": {"error": said}, "time": 0.0}).encode()


if __name__ == "__main__":
    sys.path.insert(0, sys.argv[1])
    import qdrant_edge as edge
    from qdrant_client import models

    memory = "/dev/shm" if Path("/dev/shm").is_dir() else None  # the engine flushes each file that it makes
    with tempfile.TemporaryDirectory(prefix="hocket-qdrant-", dir=memory, ignore_cleanup_errors=True) as home:
        asyncio.run(_serve(home))
