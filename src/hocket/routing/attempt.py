"""An attempt of a call by another model's pipeline: the same run, the same deadline, the bill of the model that is asked."""

from collections.abc import Mapping
from typing import Any

from hocket._pipeline.call import Call, CallLimits, Delivery
from hocket._pipeline.chat_answer import rebuild_result
from hocket._runtime import clock
from hocket.language_models.chat_models import BaseChatModel
from hocket.messages import AIMessageChunk
from hocket.messages.base import copy_message
from hocket.outputs import ChatGenerationChunk
from hocket.retries import RetryPolicy
from hocket.routing.deployment import DeploymentPlace
from hocket.timeouts import Timeout

__all__ = ["open_attempt", "open_call", "sign"]


def open_attempt(call: Call, place: DeploymentPlace, *, is_hedge: bool = False) -> Call:
    """Return a call's attempt at a deployment, whose entries in ledgers say so. Its chunks are the call's."""
    metadata: dict[str, Any] = {"deployment": place.name}
    if is_hedge:
        metadata["hedge"] = True
    return open_call(call, place.model, metadata, call.delivery)


def open_call(
    call: Call,
    model: BaseChatModel,
    metadata: Mapping[str, Any],
    delivery: Delivery | None,
    retry: RetryPolicy | None = None,
) -> Call:
    """Return the part of a call that another model makes.

    Args:
        call: the call.
        model: makes the part. Its limits on time hold where the call has none, and its ``total`` for the part.
        metadata: more of them, for ledgers.
        delivery: of its chunks; None: nobody gets them.
        retry: when a failed attempt is followed by another.
    """
    request = call.request
    params = {**request.params, "stream": request.streaming}
    asked, _ = model._make_request(  # pyright: ignore[reportPrivateUsage]  # a hook of every model
        call.mode,
        request.prompts,
        request.run_ids,
        request.stop,
        params,
        request.prompts[0],
        {**(request.metadata or {}), **metadata},
    )
    timeout, ends_at = call.limits.timeout, call.limits.ends_at
    if model.timeout is not None:
        own = Timeout.of(model.timeout)
        timeout = own if timeout is None else timeout.over(own)
        own_end = None if own.total is None else clock.current().now() + own.total
        if own_end is not None and (ends_at is None or own_end < ends_at):
            timeout, ends_at = Timeout(total=own.total).over(timeout), own_end
    return Call(call.answer, asked, call.mode, CallLimits(timeout, retry, ends_at), call.runs, delivery)


async def sign(call: Call, result: Any, facts: Mapping[str, Any]) -> Any:
    """Have the answer say who gave it, in its ``response_metadata``, also to a reader of its chunks."""
    delivery = call.delivery
    if delivery.sink is not None and delivery.has_begun:
        chunk = AIMessageChunk(content="", response_metadata=dict(facts))
        waiting = delivery.deliver(ChatGenerationChunk(message=chunk))
        if waiting is not None:
            await waiting
        return delivery.fold.result()
    messages = [generation.message for generation in result.generations]  # the model's own, which are left as they are
    signed = rebuild_result(
        result, [copy_message(one, response_metadata={**one.response_metadata, **facts}) for one in messages]
    )
    if not delivery.is_shared:
        await delivery.replay(signed)
    return signed
