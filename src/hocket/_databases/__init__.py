"""What stores share: clients and pools for each URL, SQLite connections, writes, file locks, addresses.

Nothing here knows what is stored. Histories use it; caches, limiters, ledgers and vector stores may: it lies below them
all. A store says which of hocket's errors a failure of its database becomes (``error_type``).

- `urls`: which database an address means, and the secrets in it.
- `clients`: one client for each URL in a process.
- `server`: an operation over a sync client or one of asyncio's, whichever a store has.
- `redis`, `postgres`: how to connect to each. Importing one needs its package.
- `circuit`: a store that fails is left alone for a while.
- `postgres_patience`: connections to PostgreSQL that do not wait for ever.
- `sqlite`: one connection for each file in a process.
- `file_lock`: locks on files, seen by other processes.
- `store`: logs, values and leases, over one seam for all stores; `opening` opens one by its address.
- `log_follower`: who waits for rows that other processes add to logs.
- `writes`: writes that a cancellation does not leave half known.
"""
