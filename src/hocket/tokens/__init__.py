"""Counting tokens: exactly where a tokenizer is known and its tables are here, approximately elsewhere, never online."""

from typing import TYPE_CHECKING

from hocket._runtime.lazy import Loader, loader

if TYPE_CHECKING:
    from hocket.tokens.approximate import count_tokens_approximately
    from hocket.tokens.counting import Tokenizer, acount_tokens, count_tokens
    from hocket.tokens.encodings import (
        Encoding as Encoding,
        aget_encoding as aget_encoding,
        encoding_name_for_model as encoding_name_for_model,
        get_encoding,
    )
    from hocket.tokens.estimator import TokenEstimator
    from hocket.tokens.token_count import TokenCount
    from hocket.tokens.windows import calculate_max_tokens, get_model_context_size

_LATER = {
    "approximate": "count_tokens_approximately",
    "counting": "Tokenizer acount_tokens count_tokens",
    "encodings": "Encoding aget_encoding encoding_name_for_model get_encoding",
    "estimator": "TokenEstimator",
    "token_count": "TokenCount",
    "windows": "calculate_max_tokens get_model_context_size",
}

__all__ = [
    "TokenCount",
    "TokenEstimator",
    "Tokenizer",
    "acount_tokens",
    "calculate_max_tokens",
    "count_tokens",
    "count_tokens_approximately",
    "get_encoding",
    "get_model_context_size",
]

__getattr__: Loader = loader(__name__, _LATER)
