"""Texts that stand beside modules: tables, and programs in other languages, for which editors have better eyes there."""

import pkgutil

__all__ = ["read_data_file"]


def read_data_file(package: str, name: str) -> str:
    """Return the text of a file in a package. It is read as modules are, also out of an archive."""
    data = pkgutil.get_data(package, name)
    assert data is not None, f"the loader of {package} reads no data"
    return data.decode()
