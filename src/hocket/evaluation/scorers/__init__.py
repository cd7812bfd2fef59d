"""Scorers: functions that give an answer to a case a score. `hocket.evaluation` offers them.

- `texts`: exact, contains, matches, close_to; `data`: fields, schema; `meaning`: similar.
- `calls`: called; `retrieval`: recall_at, mrr, ndcg_at, cites; `limits`: within.
- `judging`: judge, a model that scores; `preference`: prefer, a model that chooses between two answers.

Each takes ``name=``, that of its metric. A case that lacks what a scorer compares with is not scored by it.
"""
