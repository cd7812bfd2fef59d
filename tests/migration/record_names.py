"""Write down the public names of langchain-core, for tests that run without it.

Run it with a Python that has the version to record:

    python tests/migration/record_names.py > tests/migration/langchain_core_names.json

A name is public in each module that lists it in ``__all__`` or defines it, if neither it nor the module begins with an
underscore. The classes that pydantic makes of generic ones (``RunnableSerializable[...]``) are left out: no program can
import them.
"""

import importlib
import json
import pkgutil
import sys
import warnings


def list_names(package: str) -> dict[str, list[str]]:
    """Return the public names of each module below a package."""
    names: dict[str, list[str]] = {}
    for found in pkgutil.walk_packages(importlib.import_module(package).__path__, f"{package}."):
        if any(part.startswith("_") for part in found.name.split(".")):
            continue
        module = importlib.import_module(found.name)
        own = {name for name, value in vars(module).items() if getattr(value, "__module__", None) == found.name}
        public = {*getattr(module, "__all__", ()), *own}
        names[found.name] = sorted(name for name in public if name.isidentifier() and not name.startswith("_"))
    return names


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    json.dump(list_names("langchain_core"), sys.stdout, indent=0, sort_keys=True)
    print()
