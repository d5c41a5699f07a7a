"""Recorded model traffic: a content-addressed store of bodies, and per trial a tape that says in which order.

    blobs/ab/<sha256>.zst      request and response bodies, compressed, named by their plain content
    tapes/<name>.jsonl         one line per exchange: request, status, content type, body, broken

Nothing of a request but its body is stored, and from that anything that looks like a key is removed. A tape
appears whole, when its trial has ended, or not at all.
"""

import difflib
import hashlib
import json
import re
import secrets
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

import zstandard

REMOVED = b"[removed]"
_SECRETS = re.compile(rb"sk-ant-[A-Za-z0-9_-]{8,}|(?<=[Bb]earer )[A-Za-z0-9._~+/-]{16,}=*")
_UNCOMPARED = ("metadata",)
DIFF_LINES = 60


class RecordingError(RuntimeError):
    """A store or a tape that cannot be used; the message says which and why."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request and what was answered. `request`, `body`: sha256. `broken`: the answer ended too early."""

    request: str
    status: int
    content_type: str
    body: str
    broken: bool = False
    retry_after: str | None = None


@dataclass(frozen=True, slots=True)
class Store:
    """The folder that holds blobs and tapes. `secrets` are removed wherever they stand."""

    root: Path
    secrets: tuple[bytes, ...] = ()

    def clean(self, data: bytes) -> bytes:
        for secret in self.secrets:
            data = data.replace(secret, REMOVED)
        return _SECRETS.sub(REMOVED, data)

    def put(self, data: bytes) -> str:
        """Store what is left of `data` without secrets, once; returns its sha256."""
        data = self.clean(data)
        name = hashlib.sha256(data).hexdigest()
        path = self._blob(name)
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            _write(path, zstandard.compress(data, 6))
        return name

    def get(self, name: str) -> bytes:
        """Raises RecordingError where the blob is missing or is not what its name says."""
        try:
            data = zstandard.decompress(self._blob(name).read_bytes())
        except (OSError, zstandard.ZstdError) as error:
            raise RecordingError(f"recording {name[:12]} in {self.root} cannot be read: {error}") from None
        if hashlib.sha256(data).hexdigest() != name:
            raise RecordingError(f"recording {name[:12]} in {self.root} was changed")
        return data

    def write_tape(self, tape: str, exchanges: list[Exchange]) -> None:
        """Replace the tape by these exchanges, all or nothing."""
        lines = "".join(json.dumps(asdict(exchange)) + "\n" for exchange in exchanges)
        path = self._tape(tape)
        path.parent.mkdir(parents=True, exist_ok=True)
        _write(path, lines.encode())

    def read_tape(self, tape: str) -> list[Exchange]:
        """Raises RecordingError where it was never recorded."""
        path = self._tape(tape)
        if not path.exists():
            raise RecordingError(f"nothing was recorded for {tape} in {self.root}; record it in a live lane first")
        try:
            return [Exchange(**json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines()]
        except (ValueError, TypeError) as error:
            raise RecordingError(f"{path} is not a tape: {error}") from None

    def _blob(self, name: str) -> Path:
        return self.root / "blobs" / name[:2] / f"{name}.zst"

    def _tape(self, tape: str) -> Path:
        return self.root / "tapes" / f"{tape}.jsonl"


@dataclass(slots=True)
class Recorder:
    """Collects the exchanges of one trial."""

    store: Store
    tape: str
    exchanges: list[Exchange] = field(default_factory=list)

    def add(
        self,
        request: bytes,
        status: int,
        content_type: str,
        body: bytes,
        broken: bool = False,
        retry_after: str | None = None,
    ) -> None:
        key = self.store.put(canonical(request))
        answer = self.store.put(body)
        self.exchanges.append(Exchange(key, status, content_type, answer, broken, retry_after))

    def finish(self) -> None:
        self.store.write_tape(self.tape, self.exchanges)


@dataclass(slots=True)
class Player:
    """Answers the requests of one trial from its tape, each exchange once."""

    store: Store
    tape: str
    _left: list[Exchange] | None = None

    def answer(self, request: bytes) -> Exchange:
        """The earliest exchange not yet played whose request is the same.

        Raises RecordingError with a diff against the next one in order where there is none.
        """
        if self._left is None:
            self._left = self.store.read_tape(self.tape)
        asked = self.store.clean(canonical(request))
        key = hashlib.sha256(asked).hexdigest()
        for index, exchange in enumerate(self._left):
            if exchange.request == key:
                return self._left.pop(index)
        if not self._left:
            raise RecordingError(f"{self.tape}: one request more than was recorded\n{_clip(asked)}")
        recorded = self.store.get(self._left[0].request)
        raise RecordingError(f"{self.tape}: this request was never recorded\n{difference(recorded, asked)}")

    @property
    def left(self) -> int:
        """Recorded exchanges that were not asked for; None played yet counts as all unknown: 0."""
        return len(self._left or ())


def canonical(request: bytes) -> bytes:
    """The request's body with sorted keys and without what does not matter; other bytes as they are."""
    try:
        body = json.loads(request)
    except ValueError:
        return request
    if isinstance(body, dict):
        body = {key: value for key, value in body.items() if key not in _UNCOMPARED}
    return json.dumps(body, sort_keys=True, ensure_ascii=False, separators=(",", ":")).encode()


def difference(recorded: bytes, asked: bytes) -> str:
    """A unified diff of two request bodies, one value per line, bounded."""
    lines = difflib.unified_diff(_lines(recorded), _lines(asked), "recorded", "asked", lineterm="", n=1)
    return "\n".join(line[:400] for _, line in zip(range(DIFF_LINES), lines, strict=False))


def tape_name(task_digest: str, agent_digest: str, repeat: int, resources: str = "") -> str:
    """The name under which a trial's traffic is recorded: what a replay must have in common with it."""
    text = "\0".join((task_digest, agent_digest, str(repeat), resources))
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _lines(body: bytes) -> list[str]:
    try:
        value: Mapping[str, object] = json.loads(body)
    except ValueError:
        return body.decode("utf-8", errors="replace").splitlines()
    return json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False).splitlines()


def _clip(data: bytes) -> str:
    return data[-400:].decode("utf-8", errors="replace")


def _write(path: Path, data: bytes) -> None:
    aside = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    aside.write_bytes(data)
    aside.replace(path)
