"""Whether a class defines a method of its own: where sync and async methods stand for each other, one of them has to."""

__all__ = ["has_own_definition"]


def has_own_definition(cls: type, base: type, *names: str) -> bool:
    """Whether ``cls``, or a class between it and ``base``, defines one of these methods of ``base``."""
    return any(getattr(cls, name) is not getattr(base, name) for name in names)
