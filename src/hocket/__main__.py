"""``python -m hocket`` is the ``hocket`` command."""

import sys

from hocket.cli import main

sys.exit(main())
