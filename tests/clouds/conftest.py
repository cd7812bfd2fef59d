"""What every test of the clouds' keys needs: an empty cache, and an environment without a trace of a cloud."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from hocket.clouds import key_cache

PREFIXES = ("AWS_", "AZURE_", "CLOUDSDK_", "GCE_", "GOOGLE_", "IDENTITY_", "IMDS_", "MSI_")


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """Forget all keys before and after; no file of this machine's user is found."""
    for name in [name for name in os.environ if name.startswith(PREFIXES)]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("CLOUDSDK_CONFIG", str(tmp_path / "gcloud"))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    key_cache._entries.clear()
    yield
    key_cache._entries.clear()
