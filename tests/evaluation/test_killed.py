"""An evaluation that is killed, again and again: the report is that of one that was not, and little is paid for twice."""

import random
import subprocess
import textwrap
import time
from collections import Counter
from pathlib import Path

from hocket.evaluation import read_report
from tests.kit.amount import RUNS_ALL
from tests.kit.warm import Program

KILLS = 20 if RUNS_ALL else 4

PROGRAM = """
    import asyncio, sys
    from hocket.evaluation import aevaluate

    async def answer(question):
        with open("asked.txt", "a") as asked:
            print(question, file=asked)
        await asyncio.sleep(0.02)
        return question if int(question) % 3 else "no"

    async def judge(answer, case):
        with open("judged.txt", "a") as judged:
            print(case.id, file=judged)
        await asyncio.sleep(0.005)
        return answer.text == case.expected

    cases = [(str(number), str(number)) for number in range(200)]
    asyncio.run(aevaluate(answer, cases, [judge], "run.jsonl", max_concurrency=4))
"""


def start(folder: Path) -> subprocess.Popen[bytes]:
    return Program("-c", textwrap.dedent(PROGRAM), cwd=folder, imports="hocket.evaluation.run")


def test_killed_at_random_points(tmp_path: Path) -> None:
    whole, folder = tmp_path / "whole", tmp_path / "killed"
    whole.mkdir()
    folder.mkdir()
    assert start(whole).wait(60) == 0
    chance = random.Random(3)
    for _ in range(KILLS):
        process = start(folder)
        time.sleep(0.15 + chance.random() * 2.5 / KILLS**0.5)
        process.kill()
        process.wait()
    assert start(folder).wait(60) == 0
    reports = [read_report(path / "run.jsonl").asdict() for path in (whole, folder)]
    for report in reports:
        for name in ("path", "seconds", "seconds_p95"):
            del report[name]
    assert reports[0] == reports[1]
    for file in ("asked.txt", "judged.txt"):
        times = Counter((folder / file).read_text().split())
        # Four were in flight, and what came in the last 50 ms was not written yet.
        assert len(times) == 200 and sum(times.values()) - 200 <= KILLS * 20
