"""What an attempt may use, and what it has used: the words that rate limits, budgets and ledgers share.

A reserver is asked before each attempt of a call, and may hold it back or refuse it; its reservation is settled after the
attempt, whatever its end. The stage that does so is `hocket._pipeline.reservations`.
"""
