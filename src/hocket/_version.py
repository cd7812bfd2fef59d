"""The version, below everything that names it. `pyproject.toml` reads it from here."""

__all__ = ["__version__"]

__version__ = "1.0.0rc1"
