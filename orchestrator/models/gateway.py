"""The model gateway as the rest sees it: started, told of attempts, asked for their usage, stopped.

One per run, in a process of its own. The owner starts and stops it; any process of the same user on the
same node speaks to it through a `GatewayHandle`, which may be pickled. With `control_host`, whoever has the
handle does so from any node that reaches that address: attempts are told over TCP then, under a token that the
handle holds. The API's key is handed to the process over a pipe, or read by it from a file, and kept nowhere
else.

Reaching it from a container. With network "public" or "allowlist": `container_host` (the engine's bridge
address) and the gateway's port. With network "none": an engine network made with `--internal` (and the
option com.docker.network.bridge.enable_icc=false, so that its containers do not see each other) has no way
out, but the host's own address on it stays reachable (tried on engine 20.10: the gateway answers, nothing
else does). The sandbox joins that network, `container_host` is its gateway address, and `host` is that
address or "0.0.0.0". What else listens on all of the host's addresses is reachable from there too. The
`claude` agent's loop runs on the host and needs no network in the container at all.
"""

import hashlib
import http.client
import json
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

from orchestrator.models.usage import ModelEndpoint, ModelUsage

STOP_TIMEOUT_S = 10.0
CONTROL_TIMEOUT_S = 30.0
API_URL = "https://api.anthropic.com"


class GatewayError(RuntimeError):
    """The gateway did not start, is gone, or refused what was asked of it."""


@dataclass(frozen=True, slots=True)
class GatewayConfig:
    """What a gateway forwards to and within which bounds.

    host, port          where it listens; port 0: a free one
    container_host      the address under which containers reach this host
    control_host        where attempts are told from other nodes; None: by processes of this node alone
    upstream, proxy     the one API, and a proxy on the way to it
    key_file            a file that holds the key; None: the key is given to Gateway
    sweep_budget_usd    what this gateway may spend in all, replays excluded
    max_concurrency     requests at the API at once; less while it says that this is too much
    rate_per_s          requests begun per second at most
    recordings          folder of recorded traffic, for the modes record and replay
    prices_file         a price table that goes before the one that ships
    announce_attempts   name attempts to a scripted model; refused for the real API
    usage_log           a file that gets a line with the attempt's total after each call
    """

    host: str = "127.0.0.1"
    port: int = 0
    container_host: str | None = None
    control_host: str | None = None
    upstream: str = API_URL
    proxy: str | None = None
    key_file: str | None = None
    sweep_budget_usd: float | None = None
    max_concurrency: int = 64
    rate_per_s: float | None = None
    recordings: str | None = None
    prices_file: str | None = None
    idle_timeout_s: float = 600.0
    announce_attempts: bool = False
    usage_log: str | None = None


@dataclass(frozen=True, slots=True)
class GatewayHandle:
    """How processes speak to a running gateway; `control`: a socket's path, or host:port with a token.

    Holds no key. Its token lets attempts in, and is worth what the sweep's budget is.
    """

    url: str
    container_url: str | None
    control: str
    control_token: str | None = field(default=None, repr=False)

    @property
    def address(self) -> tuple[str, int]:
        """Where models are asked, as host and port."""
        parts = urlsplit(self.url)
        return str(parts.hostname), int(parts.port or 80)

    @property
    def identity(self) -> str:
        """Tells this gateway from every other, also from one that had its address before; no secret."""
        return hashlib.sha256(f"{self.url} {self.control} {self.control_token}".encode()).hexdigest()[:12]

    def seen_as(self, container_url: str) -> "GatewayHandle":
        """The same gateway where containers reach it under another address."""
        return replace(self, container_url=container_url)

    def register(
        self,
        attempt_id: str,
        *,
        mode: str = "live",
        tape: str | None = None,
        budget_usd: float | None = None,
        in_container: bool = False,
    ) -> ModelEndpoint:
        """Let an attempt speak, and say where. `mode`: live, record or replay, the latter two with a tape.

        Raises GatewayError where the attempt is already registered or the mode cannot be kept.
        """
        asked = {"attempt_id": attempt_id, "mode": mode, "tape": tape, "budget_usd": budget_usd}
        answer = self._ask("POST", "/register", asked)
        url = (self.container_url if in_container else None) or self.url
        return ModelEndpoint(url, str(answer["token"]))

    def usage(self, attempt_id: str) -> ModelUsage:
        """What an attempt has used so far."""
        return _usage(self._ask("GET", f"/usage/{attempt_id}"))

    def close(self, attempt_id: str) -> ModelUsage:
        """The attempt has ended: its token is void, its requests end, its tape is written."""
        return _usage(self._ask("POST", f"/close/{attempt_id}", {}))

    def spent_usd(self) -> float:
        """What all attempts together have really spent, as far as prices are known."""
        return float(str(self._ask("GET", "/totals")["spent_usd"]))

    def set_sweep_budget(self, usd: float | None) -> None:
        """Replace the bound on what this gateway may spend in all."""
        self._ask("POST", "/budget", {"sweep_budget_usd": usd})

    def _ask(self, method: str, path: str, body: Mapping[str, object] | None = None) -> dict[str, object]:
        headers = {"content-type": "application/json"}
        connection: http.client.HTTPConnection = _UnixConnection(self.control)
        if self.control_token is not None:
            connection = http.client.HTTPConnection(self.control, timeout=CONTROL_TIMEOUT_S)
            headers["authorization"] = f"Bearer {self.control_token}"
        try:
            data = None if body is None else json.dumps(body)
            connection.request(method, path, body=data, headers=headers)
            response = connection.getresponse()
            answer = json.loads(response.read())
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise GatewayError(f"the model gateway at {self.url} does not answer: {error}") from None
        finally:
            connection.close()
        if response.status != 200:
            raise GatewayError(f"{method} {path}: {answer.get('error')}")
        assert isinstance(answer, dict)
        return answer


class Gateway:
    """Owns the gateway's process. A context manager; stopping twice is fine."""

    def __init__(self, config: GatewayConfig, api_key: str | None = None) -> None:
        if config.announce_attempts and config.upstream.startswith(API_URL):
            raise GatewayError("attempts are named to scripted models only, never to the real API")
        if api_key is None and config.key_file is None:
            raise GatewayError("no key: set ANTHROPIC_API_KEY or name a key file")
        self._config, self._key = config, api_key
        self._process: subprocess.Popen[bytes] | None = None
        self._folder: Path | None = None
        self._handle: GatewayHandle | None = None

    @property
    def handle(self) -> GatewayHandle:
        if self._handle is None:
            raise GatewayError("the gateway was not started")
        return self._handle

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process is not None else None

    def start(self) -> GatewayHandle:
        """Returns when it answers. Raises GatewayError with its own words when it does not start."""
        self._folder = Path(tempfile.mkdtemp(prefix="passhat-gw-"))
        control = str(self._folder / "control.sock")
        token = secrets.token_urlsafe(32) if self._config.control_host is not None else None
        asked = {**asdict(self._config), "control": control, "control_token": token, "key": self._key}
        self._key = None
        command = [sys.executable, "-m", "orchestrator.models.gateway_process"]
        environment = {"PYTHONPATH": ":".join(path for path in sys.path if path)}
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, start_new_session=True
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(asked).encode() + b"\n")
        self._process.stdin.flush()
        answer = self._first_line()
        if "port" not in answer:
            self.stop()
            raise GatewayError(f"the model gateway did not start: {answer.get('error', 'it ended at once')}")
        port = int(str(answer["port"]))
        local = "127.0.0.1" if self._config.host in ("0.0.0.0", "") else self._config.host
        inside = self._config.container_host
        container_url = f"http://{inside}:{port}" if inside else None
        if token is not None:
            control = f"{self._config.control_host}:{answer['control_port']}"
        self._handle = GatewayHandle(f"http://{local}:{port}", container_url, control, token)
        return self._handle

    def stop(self) -> None:
        """End the process: it ends by itself when its standard input is closed."""
        process, self._process = self._process, None
        if process is not None:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.close()
            try:
                process.wait(STOP_TIMEOUT_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            process.stdout.close()
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)

    def register(
        self,
        attempt_id: str,
        *,
        mode: str = "live",
        tape: str | None = None,
        budget_usd: float | None = None,
        in_container: bool = False,
    ) -> ModelEndpoint:
        """See GatewayHandle.register."""
        return self.handle.register(attempt_id, mode=mode, tape=tape, budget_usd=budget_usd, in_container=in_container)

    def usage(self, attempt_id: str) -> ModelUsage:
        """See GatewayHandle.usage."""
        return self.handle.usage(attempt_id)

    def close(self, attempt_id: str) -> ModelUsage:
        """See GatewayHandle.close."""
        return self.handle.close(attempt_id)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _first_line(self) -> dict[str, object]:
        assert self._process is not None
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        try:
            answer = json.loads(line)
        except ValueError:
            return {}
        return answer if isinstance(answer, dict) else {}


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: str) -> None:
        super().__init__("gateway", timeout=CONTROL_TIMEOUT_S)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(CONTROL_TIMEOUT_S)
        try:
            self.sock.connect(self._path)
        except OSError:
            self.sock.close()
            raise


def _usage(answer: Mapping[str, object]) -> ModelUsage:
    return ModelUsage(**answer)  # type: ignore[arg-type]
