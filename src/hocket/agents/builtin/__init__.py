"""Tools that many agents need: a calculator, a search over the application's client, a database that is only read.

What cannot be contained is not here: neither a shell nor Python.

- `arithmetic`: operators and functions whose cost and results are bounded.
- `calculator`: expressions read and evaluated with these.
- `search`: a search by a function of the application.
- `sql`: one query of an SQLite database.
"""
