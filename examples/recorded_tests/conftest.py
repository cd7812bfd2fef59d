"""Every test runs on asyncio and trio; no model is asked but by `pytest --hocket-record=once`."""

pytest_plugins = ["hocket.testing.plugin"]
