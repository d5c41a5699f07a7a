"""A real S3 server process on loopback, and a bucket on it."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from orchestrator.storage.root import Root

CREDENTIALS = {
    "AWS_ACCESS_KEY_ID": "test",
    "AWS_SECRET_ACCESS_KEY": "test",
    "AWS_EC2_METADATA_DISABLED": "true",
}
WAIT_S = 60.0


@contextmanager
def s3_server(host: str = "127.0.0.1") -> Iterator[str]:
    """host:port of a server that ends with the block. CREDENTIALS must be in the environment of its clients."""
    with socket.socket() as free:
        free.bind((host, 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "moto.server", "-H", host, "-p", str(port)]
    quiet = subprocess.DEVNULL
    server = subprocess.Popen(command, stdout=quiet, stderr=quiet, env={**os.environ, **CREDENTIALS})
    try:
        until = time.monotonic() + WAIT_S
        while True:
            with socket.socket() as probe:
                if probe.connect_ex((host, port)) == 0:
                    break
            assert time.monotonic() < until, "the S3 server did not come up"
            time.sleep(0.1)
        yield f"{host}:{port}"
    finally:
        server.terminate()
        server.wait()


def new_bucket(address: str, bucket: str, folder: str) -> str:
    """A bucket, made, and the URI of a results root in it. Raises OSError."""
    options = f"endpoint_override={address}&scheme=http&region=us-east-1&allow_bucket_creation=true"
    Root(f"s3://{bucket}?{options}").filesystem.create_dir(bucket)
    return f"s3://{bucket}/{folder}?{options}"
