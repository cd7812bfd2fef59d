"""Bedrock beside botocore and LangChain's package for AWS: signatures, frames, a call, and many calls at once.

CPU time of the process, but for the last: its seconds are those that pass, with calls of half a second each.
"""

import asyncio
import os
import time
from collections.abc import Iterator
from functools import partial
from typing import Any

from .bench import Bench, Case
from .contenders import Caller, find_callers
from .harness import Body, Samples, Target, measure, recording
from .replies import REPLIES
from .seats import measure_work, seats
from .table import Row, row_of

__all__ = ["CASES"]

AT_ONCE = 128
URL = "https://bedrock-runtime.eu-west-1.amazonaws.com/model/eu.amazon.nova-pro-v1%3A0/converse"
CONTENT = b'{"messages": [{"role": "user", "content": [{"text": "hi"}]}]}' * 10


def signing(bench: Bench) -> Iterator[Row]:
    """Sign a request, by hocket and by botocore."""
    contenders = {"hocket": _sign_by_hocket, "peer": _sign_by_botocore}
    yield row_of(bench.case, "Bedrock: a signature", measure(contenders, bench.plan), Target(0.5, over="peer"))


def _sign_by_hocket() -> Body:
    from hocket.clouds import AWSCredentials
    from hocket.clouds.aws_signature import sign_request
    from hocket.http.request import HTTPRequest

    request = HTTPRequest("POST", URL, {"content-type": "application/json"}, CONTENT)
    who = AWSCredentials("AKID", "secret", "token" * 40)

    def sign(count: int) -> None:
        for _ in range(count):
            sign_request(request, who, region="eu-west-1", service="bedrock", at=time.time())

    return sign


def _sign_by_botocore() -> Body:
    from botocore.auth import SigV4Auth
    from botocore.awsrequest import AWSRequest
    from botocore.credentials import Credentials

    signer = SigV4Auth(Credentials("AKID", "secret", "token" * 40), "bedrock", "eu-west-1")

    def sign(count: int) -> None:
        for _ in range(count):
            signer.add_auth(AWSRequest("POST", URL, {"content-type": "application/json"}, CONTENT))

    return sign


def framing(bench: Bench) -> Iterator[Row]:
    """Cut a stream of frames into events, by hocket and by botocore."""
    replies = REPLIES["bedrock"]
    frames = [chunk.partition(b"\r\n")[2][:-2] for chunk in (replies.token,)] * 100

    def by_hocket() -> Body:
        from hocket.http.event_stream import AWSEventStream

        def read(count: int) -> None:
            for _ in range(count):
                stream = AWSEventStream()
                assert sum(len(stream.feed(frame)) for frame in frames) == len(frames)

        return read

    def by_botocore() -> Body:
        from botocore.eventstream import EventStreamBuffer

        def read(count: int) -> None:
            for _ in range(count):
                buffer: Any = EventStreamBuffer()
                found = 0
                for frame in frames:
                    buffer.add_data(frame)
                    found += len(list(buffer))
                assert found == len(frames)

        return read

    samples = measure({"hocket": by_hocket, "peer": by_botocore}, bench.plan, per=len(frames))
    yield row_of(bench.case, "Bedrock: a frame of a stream", samples, Target(0.5, over="peer"))


def calls(bench: Bench) -> Iterator[Row]:
    """Ask once, and 128 times at once."""

    if "langchain" not in find_callers("bedrock"):
        reason = "no langchain-aws: scripts/setup sdks brings it"
        yield Row(bench.case, "Bedrock: calls", "µs", target=Target(0.4), skipped=reason)
        return

    async def ask(caller: Caller) -> None:
        await caller.call()

    samples = measure_work(bench, "bedrock", ask, per=1)
    yield row_of(bench.case, "Bedrock: CPU of a call", samples, Target(0.4))
    samples = Samples()
    with seats("bedrock", "late") as taken:
        for _ in range(1 if bench.plan.quick else 3):
            for who in ("hocket", "langchain"):
                if who in taken and who not in samples.failures:
                    with recording(samples, who):
                        taken[who].run(ask(taken[who].sit()))
                        began = time.perf_counter()
                        taken[who].run(_ask_at_once(partial(ask, taken[who].sit())))
                        samples.micros.setdefault(who, []).append(time.perf_counter() - began)
    what = f"Bedrock: {AT_ONCE} calls of 0.5 s at once, {os.cpu_count()} cores"
    yield row_of(bench.case, what, samples, Target(0.15), "s")


async def _ask_at_once(ask: Any) -> None:
    await asyncio.gather(*(ask() for _ in range(AT_ONCE)))


CASES: dict[str, Case] = {"clouds-signing": signing, "clouds-framing": framing, "clouds-calls": calls}
