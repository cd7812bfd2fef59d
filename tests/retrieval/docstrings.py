"""Docstrings of Python's library: the first line is the question, the rest the passage. Questions with the right words."""

import importlib
import inspect
from collections.abc import Iterator

__all__ = ["read_docstrings"]

_MODULES = """
argparse ast asyncio base64 bisect calendar cmd codecs collections concurrent.futures configparser contextlib copy csv
datetime decimal difflib dis email email.message email.utils enum filecmp fileinput fnmatch fractions ftplib functools
getpass gettext glob graphlib gzip hashlib heapq html html.parser http.client http.cookies http.server imaplib inspect
io ipaddress itertools json json.decoder json.encoder linecache locale logging lzma mailbox mimetypes multiprocessing
netrc numbers operator optparse os os.path pathlib pickle pickletools pkgutil platform plistlib poplib pprint pstats
queue random re sched secrets selectors shelve shlex shutil smtplib socket socketserver sqlite3 ssl stat statistics
string subprocess symtable sysconfig tarfile tempfile textwrap threading timeit token tokenize traceback tracemalloc
types unittest unittest.case unittest.mock urllib.parse urllib.request urllib.robotparser uuid warnings wave
weakref webbrowser xml.dom.minidom xml.etree.ElementTree xml.sax xmlrpc.client zipapp zipfile zoneinfo
"""


def read_docstrings(count: int) -> list[tuple[str, str]]:
    """Return so many pairs of a passage and its question, the same in every run of one version of Python."""
    pairs = sorted(set(_find_pairs()))
    step = len(pairs) / count
    return [pairs[int(number * step)] for number in range(count)]


def _find_pairs() -> Iterator[tuple[str, str]]:
    for name in _MODULES.split():
        module = importlib.import_module(name)
        for owner in (module, *vars(module).values()):
            if getattr(owner, "__module__", name) != name or not (inspect.ismodule(owner) or inspect.isclass(owner)):
                continue
            for one in vars(owner).values():
                text = inspect.getdoc(one) if callable(one) else None
                summary, _, body = (text or "").partition("\n\n")
                if 20 <= len(summary) <= 120 and "\n" not in summary and 120 <= len(body) <= 400:
                    yield body, summary
