"""The connection to a Docker engine, and what its errors mean. Knows no trial."""

import contextlib
from collections.abc import Iterator
from typing import Any

import docker.errors
import requests.exceptions
import urllib3.exceptions
from docker import APIClient

from sandboxes.base import EngineUnavailableError, SandboxError, SandboxGoneError
from sandboxes.engine_http import EngineSocket, unavailable

DEFAULT_URL = "unix:///var/run/docker.sock"
ENGINE_TIMEOUT_S = 120.0
OLDEST_API = (1, 41)
NEWEST_API = (1, 47)
GONE_WORDS = ("no such container", "is not running", "is paused", "marked for removal", "is not paused")


class Engine:
    """A pooled client of one engine, and the plain socket beside it. One per process; not for pickling."""

    def __init__(self, base_url: str = DEFAULT_URL, timeout_s: float = ENGINE_TIMEOUT_S) -> None:
        self.base_url = base_url
        self.timeout_s = timeout_s
        self.api_version = _agreed_version(base_url, timeout_s)
        with engine_errors(f"connect to {base_url}", base_url):
            self.client = APIClient(
                base_url=base_url, version=self.api_version, timeout=int(timeout_s), max_pool_size=16
            )
        self.socket = EngineSocket(base_url, self.api_version)

    def close(self) -> None:
        self.client.close()

    def inspect(self, container_id: str, timeout_s: float | None = None) -> dict[str, Any]:
        """A container as the engine sees it. Raises SandboxGoneError when there is none."""
        status, answer = self.socket.request(
            "GET", f"/containers/{container_id}/json", None, timeout_s or self.timeout_s
        )
        self.check(status, answer, f"inspect container {container_id[:12]}")
        return dict(answer)

    def require_running(self, container_id: str, timeout_s: float | None = None) -> None:
        """Raise SandboxGoneError unless a container runs and is not paused."""
        state = self.inspect(container_id, timeout_s)["State"]
        if not state["Running"] or state["Paused"]:
            found = "paused" if state["Paused"] else state["Status"]
            raise SandboxGoneError(
                f"container {container_id[:12]} was in use and is {found}: it was touched from outside, or"
                " its deadline passed; try the trial again"
            )

    def check(self, status: int, answer: Any, asked: str) -> None:
        """Raise what an HTTP status of the engine means."""
        if status >= 400:
            message = answer.get("message", "") if isinstance(answer, dict) else str(answer)
            raise error_for(status, message, asked)


def error_for(status: int | None, message: str, asked: str) -> SandboxError:
    """What an error of the engine means.

    A missing, stopped or paused container is gone; everything else is the engine's failure to do what
    was asked, with its own words.
    """
    words = message.strip().rstrip(".")
    if status in (404, 409) and any(sign in words.lower() for sign in GONE_WORDS):
        return SandboxGoneError(f"{asked}: {words}; it was touched from outside, try the trial again")
    return SandboxError(f"{asked}: the engine refused ({status}: {words}); see its log")


@contextlib.contextmanager
def engine_errors(asked: str, base_url: str = "") -> Iterator[None]:
    """Turn whatever the docker library and its transport raise into SandboxError and its kinds."""
    try:
        yield
    except docker.errors.APIError as error:
        raise error_for(error.status_code, str(error.explanation or error), asked) from error
    except (
        requests.exceptions.RequestException,
        urllib3.exceptions.HTTPError,
        docker.errors.DockerException,
        OSError,
    ) as error:
        if isinstance(error, SandboxError):
            raise
        raise unavailable(error, asked, base_url) from error


def _agreed_version(base_url: str, timeout_s: float) -> str:
    """The newest API version that both sides know, from 1.41 on."""
    status, answer = EngineSocket(base_url, None).request("GET", "/version", None, timeout_s)
    if status != 200:
        raise error_for(status, str(answer), f"ask {base_url} for its version")
    offered = tuple(int(part) for part in str(answer["ApiVersion"]).split("."))
    if offered < OLDEST_API:
        raise EngineUnavailableError(
            f"the Docker engine at {base_url} speaks API {'.'.join(map(str, offered))}, and passhat needs"
            " 1.41 (engine 20.10) or newer: update the engine"
        )
    return ".".join(map(str, min(offered, NEWEST_API)))
