"""The batch endpoints of a scripted server: `Server.batches`.

What is the same at every provider is here: batches take their time, lists lag, requests are refused or lost on the way
back. How it is worded is the business of a `BatchFormat`; what a row is answered, of the server's own script.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from urllib.parse import parse_qsl

from pydantic_core import from_json, to_json

from hocket.errors import InvalidInput
from hocket.messages.content import Fields
from hocket.testing.server.batch_formats import BatchEndpoint, BatchFormat
from hocket.testing.server.behaviours import Behaviour, Body
from hocket.testing.server.format import Format
from hocket.testing.server.submitted_batch import BatchPlan, SubmittedBatch, SubmittedRow
from hocket.testing.server.wire import Bill, ReceivedRequest, WireAnswer

__all__ = ["ScriptedBatches"]


class ScriptedBatches:
    """What a server's batch endpoints do, and what was submitted to them.

    Attributes:
        plan: what becomes of a batch; or a function that is given each when it is created.
        is_offered: whether there are such endpoints; else each is a 404.
        list_lag: seconds until a list has a new batch.
        page_size: the most batches on a page of a list, whatever is asked for.
        submitted: the batches that were created, in order.
    """

    def __init__(
        self, format: Format, answer: Callable[[ReceivedRequest], WireAnswer], bill: Callable[[int], None]
    ) -> None:
        self.plan: BatchPlan | Callable[[SubmittedBatch], BatchPlan] = BatchPlan()
        self.is_offered = True
        self.list_lag: float = 0
        self.page_size = 100
        self.submitted: list[SubmittedBatch] = []
        self._format, self._answer_row, self._bill = format, answer, bill
        self._files: dict[str, bytes] = {}
        self._disturbances: list[tuple[BatchEndpoint, Behaviour | Callable[[Body], Behaviour]]] = []

    def disturb(self, endpoint: BatchEndpoint, how: Behaviour | Callable[[Body], Behaviour], times: int = 1) -> None:
        """Have something happen to the next requests to ``endpoint``, after what was asked for before.

            server.batches.disturb("create", Status(503))  # refused: nothing is created
            server.batches.disturb("create", lambda reply: Hangup())  # created, and nobody hears of it
            server.batches.disturb("results", lambda reply: Cut(reply, at_byte=300), times=2)

        Args:
            endpoint: which requests; both steps of Gemini's upload are one.
            how: a behaviour: in place of the request, which has no effect; a function: returns what is answered, from
                the answer to a request that has had its effect.
            times: so many requests.
        """
        for _ in range(times):
            self._disturbances.append((endpoint, how))

    @property
    def executed_ids(self) -> Counter[str]:
        """How often a row with each custom id was asked, in all batches."""
        return Counter(row.custom_id for row in self._iterate_asked())

    @property
    def executed_bodies(self) -> Counter[str]:
        """How often each body was asked, as JSON with its keys in order, in all batches."""
        return Counter(json.dumps(row.request.json, sort_keys=True) for row in self._iterate_asked())

    @property
    def usage(self) -> Counter[str]:
        """What all batches have used; see `SubmittedBatch.usage`."""
        return sum((batch.usage for batch in self.submitted), Counter[str]())

    def answer(self, request: ReceivedRequest) -> WireAnswer | None:
        """Return the answer to a request to a batch endpoint; None: it is for another."""
        words = self._format.batches
        if words is None or (found := words.find(request)) is None:
            return None
        endpoint, name = found
        if not self.is_offered:
            return self._refuse(words, f"Invalid URL ({request.method} {request.path})").answer(request, self._format)
        change = next((one for one in self._disturbances if one[0] == endpoint), None)
        if change is None:
            return self._reply(words, endpoint, name, request).answer(request, self._format)
        self._disturbances.remove(change)
        how = change[1] if isinstance(change[1], Behaviour) else change[1](self._reply(words, endpoint, name, request))
        return how.answer(request, self._format)

    def _reply(self, words: BatchFormat, endpoint: BatchEndpoint, name: str, request: ReceivedRequest) -> Body:
        known = [batch for batch in reversed(self.submitted) if batch.age < batch.plan.gone_after]
        if endpoint == "upload":
            document, headers = words.read_upload(request, self._files)
            return Body(document, headers=headers)
        if endpoint == "create":
            return self._create(words, request)
        if endpoint == "list":
            listed = [batch for batch in known if batch.age >= self.list_lag]
            return Body(words.write_list(listed, dict(parse_qsl(request.query)), self.page_size))
        for batch in known:
            if endpoint == "results" and batch.age < batch.plan.archived_after and name in words.list_results(batch):
                return Body(b"".join(words.write_lines(batch, words.list_results(batch)[name])))
            if endpoint != "results" and batch.id == name:
                if endpoint == "cancel":
                    batch.cancel()
                return Body(words.write_batch(batch))
        return self._refuse(words, f"{name} was not found")

    def _create(self, words: BatchFormat, request: ReceivedRequest) -> Body:
        headers = {name: text for name, text in request.headers.items() if not name.startswith("content-")}
        serial = request.serial
        rows = [
            SubmittedRow(
                number, id, ReceivedRequest("POST", path, "", headers, to_json(body), serial=f"{serial}-{number}")
            )
            for number, (id, path, body) in enumerate(words.read_rows(request, self._files))
        ]
        ids = Counter(row.custom_id for row in rows)
        if wrong := [id for id, count in ids.items() if count > 1 or not re.fullmatch(words.custom_id, id)]:
            raise InvalidInput(f"ids of rows match {words.custom_id!r}, and each is there once: {wrong[:3]}")
        if any(self._format.wants_stream(row.request) for row in rows):
            raise InvalidInput("a row of a batch asks for a stream")
        batch = SubmittedBatch(len(self.submitted), words.id.format(len(self.submitted) + 1), request, rows, self._ask)
        batch.plan = self.plan(batch) if callable(self.plan) else self.plan
        if batch.plan.end == "failed" and not words.can_fail:
            raise InvalidInput("no batch of this provider is refused whole once it is created")
        self.submitted.append(batch)
        said = Body(words.write_batch(batch))
        batch.begin()
        return said

    def _refuse(self, words: BatchFormat, message: str) -> Body:
        return Body(self._format.error(404, message, words.unknown), status=404)

    def _ask(self, request: ReceivedRequest) -> tuple[int, Fields]:
        answer = self._answer_row(request)
        steps = list(answer.steps)
        self._bill(sum(step.tokens for step in steps if isinstance(step, Bill)))
        try:
            return answer.status, from_json(b"".join(step for step in steps if isinstance(step, bytes)))
        except ValueError:  # a script that hangs up, or breaks off
            return 500, self._format.error(500, "", {})

    def _iterate_asked(self) -> Iterator[SubmittedRow]:
        return (row for batch in self.submitted for row in batch.rows if row.status)
