"""An object store for the tests of this folder: one server, a bucket for each test."""

import secrets
from collections.abc import Iterator

import pytest

from tests.s3_server import CREDENTIALS, new_bucket, s3_server


@pytest.fixture(scope="session")
def object_store() -> Iterator[str]:
    with s3_server() as address:
        yield address


@pytest.fixture
def bucket(object_store: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """The URI of an empty results root on a real S3 server."""
    for name, value in CREDENTIALS.items():
        monkeypatch.setenv(name, value)
    return new_bucket(object_store, f"results-{secrets.token_hex(4)}", "night")
