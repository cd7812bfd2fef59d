"""Models that read two texts at once and say how well one answers the other. LangChain's names.

An embedding model reads each text alone, so its vectors can be kept; a cross-encoder is asked again for every pair, and
knows better. `hocket.retrievers.CrossEncoderReranker` puts with one what was found in order.
"""

import functools
from collections.abc import Sequence
from typing import ClassVar

from hocket._runtime.definitions import EitherVerb
from hocket._runtime.mode import ASYNC
from hocket._runtime.portal import run_in_portal

__all__ = ["BaseCrossEncoder"]


class BaseCrossEncoder(EitherVerb):
    """Scores pairs of texts. A subclass defines `ascore` or, in sync code, `score`."""

    _verbs: ClassVar = ("score",)

    async def ascore(self, text_pairs: list[tuple[str, str]]) -> Sequence[float]:
        """Return a number for each pair, greater where they fit better. By default `score`, in a worker thread."""
        return await ASYNC.call_sync(self.score, text_pairs)

    def score(self, text_pairs: list[tuple[str, str]]) -> Sequence[float]:
        """Return a number for each pair: the sync face of `ascore`."""
        return run_in_portal(functools.partial(self.ascore, text_pairs))
