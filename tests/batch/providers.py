"""The providers with batch endpoints."""

import sys

sys.path.insert(0, "/tmp/me/b")
from openai_b import Model

from hocket.testing import OpenAIFormat
from tests.kit.batches import Provider

PROVIDERS = [
    Provider(
        "openai",
        OpenAIFormat,
        lambda url, **fields: Model(model="gpt-5.2", base_url=url, api_key="k", **fields),
        lambda body: body["messages"][-1]["content"],
    )
]
