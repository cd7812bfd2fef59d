"""Build the site into build/site, and check it. Warnings fail, whoever gives them."""

import re
import shutil
import subprocess
import sys

from website.check import find_faults
from website.navigation import write_settings
from website.pages import ROOT, copy_pages, list_decisions
from website.reference import list_reference, write_reference
from website.search import find_lost, order_search

BUILD = ROOT / "build"


def main() -> int:
    """Build and check; the exit code is 1 if anything is wrong."""
    BUILD.mkdir(exist_ok=True)
    for folder in ("pages", "site"):
        shutil.rmtree(BUILD / folder, ignore_errors=True)
    copy_pages(BUILD / "pages")
    write_reference(BUILD / "pages/reference")
    reference = [f"{page}: reference/{page}.md" for page in list_reference()]
    write_settings(BUILD / "mkdocs.yml", {"decisions": list_decisions(), "reference": reference})

    command = [sys.executable, "-m", "zensical", "build", "--strict", "--clean", "--config-file", "build/mkdocs.yml"]
    built = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    warnings = [line for line in built.stdout.splitlines() if re.match("griffe: |mkdocstrings", line)]
    if built.returncode or warnings:
        print(built.stdout)
        return 1

    order_search(BUILD / "site")
    faults = [*find_faults(BUILD / "site"), *find_lost(BUILD / "site")]
    print(*faults, sep="\n")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
