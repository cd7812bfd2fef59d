"""Budgets: what may be spent, in US dollars or tokens, and an end to it before it is spent.

A request reserves the most that it may come to before it is sent, and settles what it came to. So

    spent + reserved + wanted <= limit

holds at every moment, over all tasks, threads and processes that share a store; else nothing is sent. A process that dies
with a reservation leaves it behind: nobody knows whether the provider bills it, so after a lease it is charged whole.
"""

from hocket.budgets.block import Spent, spending
from hocket.budgets.budget import Budget, BudgetReservation, BudgetState

__all__ = ["Budget", "BudgetReservation", "BudgetState", "Spent", "spending"]
