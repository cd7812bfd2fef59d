"""Tools that many agents need: a calculator, a search over the application's client, a database that is only read.

What cannot be contained is not here: neither a shell nor Python.

- `calculator`: `hocket.tools.calculator`, for a model.
- `search`: a search by a function of the application.
- `sql`: one query of an SQLite database, as `hocket._databases.sqlite_reader` answers it.
"""
