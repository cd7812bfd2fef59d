"""The measurements of the house: `scripts/measure` prints them, the tests of `tests/house` hold some of them.

Each reads the sources as text or as syntax trees, or traces a real call; none needs more than Python and the packages
of the ``dev`` extra.
"""
