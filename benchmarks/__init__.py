"""What hocket costs, next to langchain-core and next to a bare coroutine. Run ``python -m benchmarks``."""
