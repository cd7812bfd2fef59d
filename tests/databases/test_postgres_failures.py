"""Which failures of PostgreSQL pass by themselves."""

import pytest

psycopg = pytest.importorskip("psycopg", reason="the extra `postgres` is not installed")

from hocket._databases.postgres import is_postgres_unavailable  # noqa: E402  # it needs psycopg


@pytest.mark.parametrize(
    ("text", "passes"),
    [
        ('connection to server at "127.0.0.1" failed: Connection refused', True),
        ("connection failed: FATAL:  sorry, too many clients already", True),
        ("connection failed: FATAL:  the database system is starting up", True),
        ('connection failed: FATAL:  database "runs" is not currently accepting connections', True),
        ('connection failed: FATAL:  too many connections for role "app"', True),
        ("connection failed: FATAL:  remaining connection slots are reserved for roles with SUPERUSER", True),
        ('connection failed: FATAL:  password authentication failed for user "app"', False),
        ('connection failed: FATAL:  database "none" does not exist', False),
    ],
)
def test_a_server_that_cannot_be_reached_now_is_told_from_one_that_refuses(text: str, passes: bool) -> None:
    assert is_postgres_unavailable(psycopg.OperationalError(text)) is passes
