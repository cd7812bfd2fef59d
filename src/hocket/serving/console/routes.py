"""The paths of the page: its files, the JSON that it shows, and its conversations.

What a model says is shown to a person who may have a key in the same browser. So the browser is told to run the page's own
script and nothing else, to ask no other host, and to make no markup out of a text (Trusted Types): an answer cannot become
a part of the page. The files tell nothing, and need no key; everything else does, where the gateway has keys.
"""

from collections.abc import AsyncIterable, Callable, Collection, Mapping
from pathlib import Path
from typing import TypeAlias
from urllib.parse import parse_qs

from hocket._asgi import Header, Receive, Send, path_of, send_reply
from hocket._runtime.mode import ASYNC
from hocket.callbacks import BaseCallbackHandler
from hocket.errors import HocketError
from hocket.messages.content import Fields, FieldsView
from hocket.runnables import Runnable
from hocket.serving.console.chats import Chats, Served
from hocket.serving.console.recorder import RunRecorder, RunWatcher
from hocket.serving.console.totals import find_ledgers, sum_days
from hocket.serving.durable_agents import find_agent, find_durable
from hocket.serving.event_body import log_failure
from hocket.serving.hocket_events import as_data
from hocket.serving.live.answers import LiveAnswers
from hocket.serving.live.chat_routes import chat_app
from hocket.serving.message_parts import encode_json
from hocket.serving.pages.chat_input import ChatInput
from hocket.serving.refusals import Refusal

__all__ = ["Console"]

FindTenant: TypeAlias = Callable[[Collection[Header]], str | None]

_FOLDER = Path(__file__).parent / "static"
_FILES: Mapping[str, tuple[bytes, bytes]] = {  # read with this module, and not in an event loop
    "": ((_FOLDER / "index.html").read_bytes(), b"text/html; charset=utf-8"),
    "page.js": ((_FOLDER / "page.js").read_bytes(), b"text/javascript; charset=utf-8"),
    "page.css": ((_FOLDER / "page.css").read_bytes(), b"text/css; charset=utf-8"),
}
_POLICY = (
    b"default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; "
    b"form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
)
_HEADERS: tuple[Header, ...] = (
    (b"content-security-policy", _POLICY),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
)
_FRESH: Header = (b"cache-control", b"no-cache")
_JSON: Header = (b"content-type", b"application/json")
_DAYS = (7, 30, 90)


class _PageAnswers(LiveAnswers):
    """The answers of the page. Who stops one means the durable run, too, which the end of this process does not touch."""

    def __init__(self, chats: Chats) -> None:
        super().__init__()
        self._chats = chats

    async def stop(self, id: str) -> bool:
        """Stop an answer."""
        chat = self._chats.find_durable(id)
        was_running = await super().stop(id)
        if chat is not None and chat.run is not None:  # by now it is known, if there is one
            await chat.run.acancel()
        return was_running


class Console:
    """The page of a gateway.

    Args:
        models: by name. Models and agents are asked, agents that wait for a person, too.
        find_tenant: lets in who has a key, by the headers of a request, and returns the name of the tenant, None where keys
            have no names; else it raises a `Refusal`. None: everybody is let in.
        max_body: bytes of a request.
        in_full: whether errors are shown as they are; else in the words that clients are told.
    """

    def __init__(
        self, models: Mapping[str, object], find_tenant: FindTenant | None, *, max_body: int, in_full: bool
    ) -> None:
        self._models: dict[str, Served] = {}
        for name, one in models.items():
            if isinstance(one, Runnable):
                self._models[name] = one
            elif (durable := find_durable(one)) is not None:
                self._models[name] = durable
        self._find_tenant = find_tenant
        self._recorder = RunRecorder(in_full=in_full)
        self._chats = Chats(self._models, self._recorder)
        self._live = _PageAnswers(self._chats)
        user = None if find_tenant is None else self._find_user
        self._chat = chat_app(self._answer, live=self._live, user=user, protocols=["ag-ui"], max_body=max_body)

    def handles(self, path: str) -> bool:
        """Say whether a path is one of the page's."""
        return path in ("/", "/page") or path.startswith("/page/")

    def watch(self, served: str, facts: FieldsView) -> BaseCallbackHandler:
        """Return a handler that has the page show the run of a request.

        Args:
            served: what is asked, by its name.
            facts: ``request_id``, and ``tenant``, if there is one.
        """
        return RunWatcher(self._recorder, served, facts["request_id"], facts.get("tenant"))

    async def aclose(self) -> None:
        """Stop the answers that go on: for the end of a service."""
        await self._live.aclose()

    async def serve(self, scope: FieldsView, receive: Receive, send: Send) -> None:
        """Answer a request for one of the page's paths.

        Raises:
            Refusal: 400, 401, 404, 405, 503.
        """

        async def send_guarded(event: Fields) -> None:
            more = {"headers": [*event["headers"], *_HEADERS]} if event["type"] == "http.response.start" else {}
            await send(event | more)

        path = path_of(scope)
        name = path.removeprefix("/page/")
        if name == "chat" or name.startswith("chat/"):
            return await self._chat(self._make_inner(scope), receive, send_guarded)
        if scope["method"] not in ("GET", "HEAD"):
            message = f"{scope['method']} is not served here; use GET"
            raise Refusal(status=405, message=message, headers=[(b"allow", b"GET")])
        if path in ("/", "/page"):
            return await send_reply(send_guarded, 307, b"", [(b"location", b"page/")])
        if name in _FILES:
            body, kind = _FILES[name]
            return await send_reply(send_guarded, 200, body, [(b"content-type", kind), _FRESH])
        tenant = None if self._find_tenant is None else self._find_tenant(scope["headers"])
        query = {key: values[-1] for key, values in parse_qs(scope.get("query_string", b"").decode("latin-1")).items()}
        found = await self._read(name, query, tenant)
        await send_reply(send_guarded, 200, encode_json(as_data(found)), [_JSON, (b"cache-control", b"no-store")])

    # -- the conversations

    def _make_inner(self, scope: FieldsView) -> FieldsView:
        """Return a request as the application of the conversations sees it.

        The gateway has looked at its host. Where there are keys no page of another origin has one, whatever a proxy has
        made of the names.
        """
        unread = () if self._find_tenant is None else (b"origin",)
        headers = [(name, value) for name, value in scope["headers"] if name not in unread]
        return {**scope, "server": None, "headers": headers, "root_path": f"{scope.get('root_path', '')}/page/chat"}

    def _find_user(self, scope: FieldsView) -> str:
        assert self._find_tenant is not None
        tenant = self._find_tenant(scope["headers"])
        return "key" if tenant is None else f"@{tenant}"

    def _answer(self, chat: ChatInput) -> AsyncIterable[object]:
        return self._chats.answer(chat, chat.user[1:] if chat.user.startswith("@") else None)

    # -- what is shown

    async def _read(self, name: str, query: Mapping[str, str], tenant: str | None) -> object:
        """Return what a tenant (None: anybody) is shown at a path.

        Raises:
            Refusal: 400, 404, 503.
        """
        if name == "models.json":
            kinds = {name: "agent" if find_agent(model) else "model" for name, model in self._models.items()}
            return [{"name": name, "kind": kind} for name, kind in kinds.items()]
        if name == "runs.json" and "id" in query:
            texts = self._recorder.find_texts(tenant, query["id"])
            if texts is None:
                raise Refusal(status=404, message="this run is not kept any more", code="not_found")
            return texts
        if name == "runs.json":
            version = self._recorder.version
            if query.get("version") == str(version):
                return {"version": version}
            runs = await ASYNC.call_sync(self._recorder.describe, tenant, query.get("request"))
            return {"version": version, "runs": runs}
        if name == "usage.json":
            return await self._read_usage(query.get("by", "model"), query.get("days", "30"), tenant)
        raise Refusal(status=404, message="there is nothing at this path; /page/ is the page")

    async def _read_usage(self, by: str, days: str, tenant: str | None) -> Fields:
        if by != "model" and by != "tenant":
            raise Refusal(status=400, message="by is one of model, tenant", param="by")
        if days not in map(str, _DAYS):
            raise Refusal(status=400, message=f"days is one of {', '.join(map(str, _DAYS))}", param="days")
        ledgers = find_ledgers(find_agent(model) or model for model in self._models.values())
        if not ledgers:
            return {"ledger": False}
        try:
            rows = await ASYNC.call_sync(sum_days, ledgers, by, int(days), tenant)
        except HocketError as error:
            log_failure(error)
            raise Refusal(status=503, message="the ledger cannot be read, and the log says why") from None
        return {"ledger": True, "by": by, "days": int(days), "rows": rows}
