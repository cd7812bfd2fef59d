"""The lines of what a model answers, where each is to say one thing."""

import re

__all__ = ["split_answer"]

_BULLET = re.compile(r"(?:[-*•]|\(?\d{1,2}[.):])\s+")


def split_answer(answer: str) -> list[str]:
    """Return the lines of an answer that say something, each once, without what stands around them: bullets, numbers and
    quotation marks.

    Examples:
        >>> split_answer('1. Why?\\n\\n- "How?"')
        ['Why?', 'How?']
    """
    lines = (_BULLET.sub("", line.strip(), count=1).strip().strip('"“”').strip() for line in answer.splitlines())
    return list(dict.fromkeys(filter(None, lines)))
