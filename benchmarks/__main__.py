"""The command: ``python -m benchmarks [--quick] [--only NAME ...] [--json FILE]``."""

import argparse
import json
import os
import platform
import time
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from . import (
    agents,
    bridges,
    bulk,
    bulk_killed,
    caching,
    calls,
    chains,
    clouds,
    durable,
    evaluation,
    fleet_limiter,
    folding,
    gateway,
    histories,
    http,
    imports,
    indexing,
    influence,
    limiter,
    live,
    loading,
    many_tools,
    memory,
    passages,
    prefix,
    provider_batches,
    providers,
    replaying,
    routing,
    searching,
    serialising,
    service,
    splitting,
    streams,
    structured,
    tokens,
    toolkit,
    tools,
    tracing,
)
from .bench import Bench, Case
from .harness import Plan, one_line
from .table import Row, print_header, print_row

FULL = Plan(rounds=21, fewest=5, turn_seconds=0.03, row_seconds=6)
LONG = (
    *("import", "cache-cold", "cache-shared", "limiter-shared", "http-cold", "providers-cold"),
    *("bulk-killed", "provider-batch", "provider-batch-memory", "influence", "live-fleet"),
    *("durable", "durable-takeover"),
)
"""Cases that start many processes, or take long for other reasons: a quick run leaves them out, unless they are named."""

QUICK = Plan(rounds=5, fewest=2, turn_seconds=0.02, row_seconds=1, quick=True)

CASES: dict[str, Case] = {
    **imports.CASES,
    **calls.CASES,
    **caching.CASES,
    **streams.CASES,
    **chains.CASES,
    **folding.CASES,
    **limiter.CASES,
    **fleet_limiter.CASES,
    **memory.CASES,
    **indexing.CASES,
    **loading.CASES,
    **http.CASES,
    **providers.CASES,
    **clouds.CASES,
    **replaying.CASES,
    **routing.CASES,
    **tools.CASES,
    **many_tools.CASES,
    **toolkit.CASES,
    **tokens.CASES,
    **structured.CASES,
    **serialising.CASES,
    **splitting.CASES,
    **searching.CASES,
    **passages.CASES,
    **tracing.CASES,
    **histories.CASES,
    **bulk.CASES,
    **bulk_killed.CASES,
    **provider_batches.CASES,
    **agents.CASES,
    **prefix.CASES,
    **influence.CASES,
    **bridges.CASES,
    **gateway.CASES,
    **live.CASES,
    **durable.CASES,
    **evaluation.CASES,
    **service.CASES,
}


def main() -> None:
    """Print the table. What it says is for the reader to judge: the exit code is 0 all the same."""
    arguments = _arguments()
    # Nobody's traces shall be measured, least of all sent.
    for name in ("LANGSMITH_TRACING", "LANGSMITH_TRACING_V2", "LANGCHAIN_TRACING_V2"):
        os.environ.pop(name, None)
    plan = QUICK if arguments.quick else FULL
    started = time.monotonic()
    print(f"{_setting()}; CPU time, median of per-round ratios, contenders by turns\n")
    print_header()
    rows: list[Row] = []
    for name in arguments.only or [name for name in CASES if not (plan.quick and name in LONG)]:
        for row in _rows(name, plan):
            print_row(row)
            rows.append(row)
    judged = [row for row in rows if row.target is not None]
    met = sum(row.verdict == "meets" for row in judged)
    print(f"\n{met} of {len(judged)} targets met, in {time.monotonic() - started:.0f} s")
    if arguments.json:
        report = {"setting": _setting(), "quick": plan.quick, "rows": [row.as_json() for row in rows]}
        arguments.json.write_text(json.dumps(report, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def _arguments() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="What hocket costs, in ratios.")
    parser.add_argument("--quick", action="store_true", help="fewer rounds and smaller sizes, without the longest")
    parser.add_argument("--only", nargs="+", metavar="NAME", choices=CASES, help=f"run these: {', '.join(CASES)}")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the rows here, too")
    return parser.parse_args()


def _rows(name: str, plan: Plan) -> Iterator[Row]:
    """Run a case; whatever goes wrong in it becomes a row."""
    try:
        yield from CASES[name](Bench(name, plan))
    except Exception as error:
        yield Row(name, name, failure=one_line(error))


def _setting() -> str:
    """Say what was compared, and where."""
    packages = ", ".join(f"{package} {_version(package)}" for package in ("hocket", "langchain-core", "pydantic"))
    return f"{packages}, Python {platform.python_version()}, {os.cpu_count()} processors"


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "missing"


if __name__ == "__main__":
    main()
