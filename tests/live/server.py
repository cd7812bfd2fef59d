"""Serve a GGUF file with llama.cpp's OpenAI-compatible server until standard input ends: run by ``conftest.py``.

    python server.py WEIGHTS KEY N_CTX SLOTS

Prints the server's address once it listens. The parent holds the other end of standard input, so this process ends when
the parent closes it, and when the parent is gone for whatever reason.
"""

import os
import sys
from typing import Any

# Read when the runtime is imported: spinning threads would starve the tests.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

HTTP_THREADS = 48  # a kept connection holds one, idle or not


def parameters(runtime: Any, weights: str, key: str, n_ctx: int, slots: int) -> Any:
    """Return the settings of a server for chat, completions and embeddings."""
    params = runtime.CommonParams()
    params.model.path = weights
    params.model_alias = "smollm2"
    params.hostname, params.port = "127.0.0.1", 0
    params.api_keys = [key]
    params.n_parallel, params.n_ctx = slots, n_ctx * slots
    params.n_batch = params.n_ubatch = 256
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    params.n_threads_http = HTTP_THREADS
    params.embedding = True
    params.pooling_type = runtime.llama_pooling_type.LLAMA_POOLING_TYPE_MEAN
    params.endpoint_slots, params.webui = True, False
    params.fit_params = params.warmup = False
    params.cache_ram_mib = 0
    params.verbosity = -1
    return params


if __name__ == "__main__":
    import xllamacpp

    weights, key, n_ctx, slots = sys.argv[1:]
    server = xllamacpp.Server(parameters(xllamacpp, weights, key, int(n_ctx), int(slots)))
    print(server.listening_address, flush=True)
    sys.stdin.read()
    os._exit(0)  # destroying a server may wait for ever
