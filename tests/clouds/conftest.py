"""Tests of the clouds' keys, which no variable and no file of whoever runs them reaches."""

import os
from pathlib import Path

import pytest


@pytest.fixture
def clean_aws(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No key, no profile and no region of AWS's is here; its files would be in a folder of the test's."""
    for name in os.environ:
        if name.startswith("AWS_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("HOME", str(tmp_path))
