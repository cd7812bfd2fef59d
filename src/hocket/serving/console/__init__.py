"""The page of a gateway: models asked side by side, what has run, and what it cost.

`routes` is the door: the paths below ``/page/``. The files for the browser are in ``static``. `recorder` keeps runs,
`run_texts` what was said in them, `chats` answers the page, `totals` reads the ledgers.
"""
