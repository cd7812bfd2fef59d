"""What every provider makes of a reply that holds no answer."""

from typing import Any

import pytest

from hocket.errors import InvalidReply, ProviderUnavailable
from hocket.testing import serve
from hocket.testing.server import Body
from tests.kit.providers import PROVIDERS


@pytest.mark.parametrize("body", [{}, {"choices": []}, {"error": None}, [], "<html>", b""], ids=repr)
@pytest.mark.parametrize("provider", PROVIDERS)
async def test_a_failure_is_known_by_its_status_whatever_its_body_is(provider: str, body: Any) -> None:
    """The status counts first: a server that is down is not blamed for the form of its answer."""
    format, make = PROVIDERS[provider]
    async with serve(format, [Body(body, status=500), Body(body)]) as server:
        model = make(model="m", base_url=server.url, api_key="k", retry=None)
        with pytest.raises(ProviderUnavailable) as caught:
            await model.ainvoke("hi")
        assert (caught.value.status, caught.value.retryable) == (500, True)
        with pytest.raises(InvalidReply):
            await model.ainvoke("hi")
