"""A real browser for tests of pages: Debian's Chromium, driven by npm's playwright-core.

The latter is installed into a cache folder of the user's at first use. Where one of them is missing, the tests are skipped.
"""

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.live.mocks import install

__all__ = ["use_browser"]

PACKAGE = "playwright-core@1.65.1"


def use_browser(script: Path, *arguments: str, within: float = 60.0) -> Any:
    """Return what a script of node's has seen in a browser, as it prints it as JSON; skip where there is no browser.

    The script's first argument is the folder that has playwright-core, and ``CHROMIUM`` is the path of the browser.
    """
    node, npm, chromium = (shutil.which(name) for name in ("node", "npm", "chromium"))
    if node is None or npm is None or chromium is None:
        pytest.skip("a page wants a browser: node, npm and chromium (`apt-get install chromium`)")
    quiet = ["--ignore-scripts", "--no-audit", "--no-fund", "--silent", "--fetch-retries=0", "--fetch-timeout=20000"]
    home = install(
        PACKAGE.replace("@", "-"), lambda folder: [[npm, "install", "--prefix", str(folder), *quiet, PACKAGE]]
    )
    command = [node, str(script), str(home), *arguments]
    environment = {**os.environ, "CHROMIUM": chromium}
    done = subprocess.run(command, capture_output=True, text=True, timeout=within, env=environment, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout)
