"""Which collection of vectors is made: numpy's, where it is installed, or one of Python alone."""

from hocket.vectorstores.plain_rows import PlainRows
from hocket.vectorstores.rows import Rows

__all__ = ["make_rows"]


def make_rows(size: int) -> Rows:
    """Return an empty collection of vectors of ``size`` numbers."""
    try:
        from hocket.vectorstores.numpy_rows import NumpyRows  # numpy takes a tenth of a second to load
    except ImportError:
        return PlainRows()
    return NumpyRows(size)
