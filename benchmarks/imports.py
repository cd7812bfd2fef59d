"""What importing costs: each import in a fresh interpreter, above one that imports nothing."""

import os
import subprocess
import sys
from collections.abc import Iterator

from .bench import Bench, Case
from .harness import Samples, Target, one_line
from .library import PACKAGES
from .table import Row, row_of

__all__ = ["CASES"]

IMPORTS = {
    "nothing": "pass",
    **{name: f"from {package}.language_models import BaseChatModel" for name, package in PACKAGES.items()},
    # The least that an async library with validated data can import.
    "bare": "import anyio\nfrom pydantic import BaseModel\nclass Message(BaseModel):\n    content: str",
}

# The peak of the resident set that `resource` reports is inherited from the parent, so the present size is read.
REPORT = """
import sys, time
cpu, modules = time.process_time(), len(sys.modules)
try:
    pages = int(open("/proc/self/statm").read().split()[1])
    import resource
    size = pages * resource.getpagesize()
except OSError:
    import resource
    size = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
print(cpu, modules, size)
"""


def imports(bench: Bench) -> Iterator[Row]:
    """CPU time, modules and memory of importing the base of all chat models."""
    cpu, modules, memory = Samples(), Samples(), Samples()
    alive = dict(IMPORTS)
    # The first round only warms the file cache and writes the compiled modules.
    for turn in range(1 + (3 if bench.plan.quick else 9)):
        floor = _import(alive["nothing"])
        for name in [name for name in alive if name != "nothing"]:
            try:
                used = _import(alive[name])
            except Exception as error:
                del alive[name]
                for samples in (cpu, modules, memory):
                    samples.failures[name] = one_line(error)
                    samples.micros.pop(name, None)
                continue
            if turn:
                for samples, mine, idle in zip((cpu, modules, memory), used, floor, strict=True):
                    samples.micros.setdefault(name, []).append(mine - idle)
    yield row_of(bench.case, "import language_models: CPU", cpu, Target(0.3), "ms")
    yield row_of(bench.case, "  the same, bare: a pydantic model and anyio", cpu, Target(1.5, over="bare"), "ms")
    yield row_of(bench.case, "import language_models: modules", modules, None, "number")
    yield row_of(bench.case, "import language_models: resident memory", memory, Target(0.5), "MB")


def _import(statement: str) -> tuple[float, float, float]:
    """Run the statement in a fresh interpreter; return CPU in ms, the number of modules and the memory in MB."""
    # Compiled modules must be written, or a library installed from its source tree is compiled anew each time.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    command = [sys.executable, "-c", statement + "\n" + REPORT]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ImportError((done.stderr.strip().splitlines() or ["no output"])[-1])
    cpu, modules, size = done.stdout.split()
    return float(cpu) * 1e3, float(modules), float(size) / 1e6


CASES: dict[str, Case] = {"import": imports}
