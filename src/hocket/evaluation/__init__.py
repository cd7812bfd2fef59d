"""Evaluation: whether a changed prompt, model or tool is better, told with an interval.

What may be concluded from scores is in `hocket.evaluation.statistics`, which knows neither models nor files.
"""

__all__: list[str] = []
