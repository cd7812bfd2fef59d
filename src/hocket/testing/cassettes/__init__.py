"""Real conversations with providers, recorded once and replayed without a network.

At the wire, below every provider: the real parsers run, chunks come as they came, and a request that has no recording is
shown as it would have been sent. In the order in which a reader wants them: `cassette` (the context manager), `matching`,
`recording`, `masking`, `replay`, `tape` (the file), `defaults` (the command line of pytest).
"""

from hocket.testing.cassettes.cassette import cassette
from hocket.testing.cassettes.defaults import RecordMode
from hocket.testing.cassettes.masking import Scrub

__all__ = ["RecordMode", "Scrub", "cassette"]
