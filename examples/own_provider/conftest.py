"""Every test runs on asyncio and trio, and reaches nothing beyond this machine."""

pytest_plugins = ["hocket.testing.plugin"]
