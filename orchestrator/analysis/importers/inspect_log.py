"""Inspect AI logs: `.eval` archives, whose entries may be compressed with zstd, and their `.json` form."""

import io
import json
import struct
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import zstandard

from orchestrator.analysis.importers.base import (
    Options,
    Refused,
    Trial,
    UnreadableImportError,
    finite,
    load_json,
    mapping,
    moment,
    whole,
)
from orchestrator.core.status import Status

_ZSTD = 93
_LETTERS = {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0}
_LIMITS = {"time": Status.AGENT_TIMEOUT, "working": Status.AGENT_TIMEOUT, "operator": Status.CANCELLED}


class Inspect:
    """One log file, or a folder of logs."""

    name = "inspect"

    def recognises(self, path: Path) -> bool:
        if path.is_dir():
            return any(path.glob("*.eval"))
        if path.suffix == ".eval":
            return True
        return path.suffix == ".json" and _looks_like_log(path)

    def read(self, path: Path, options: Options) -> Iterator[Trial | Refused]:
        """Samples one by one; an archive is never unpacked as a whole."""
        for file in sorted(path.glob("*.eval")) + sorted(path.glob("*.json")) if path.is_dir() else [path]:
            yield from _read_archive(file, options) if file.suffix == ".eval" else _read_json(file, options)


def _looks_like_log(path: Path) -> bool:
    with path.open(encoding="utf-8", errors="replace") as stream:
        head = stream.read(4096)
    return '"eval"' in head and '"version"' in head


def _read_archive(path: Path, options: Options) -> Iterator[Trial | Refused]:
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
            header = _header(archive, names, path)
            samples = [name for name in names if name.startswith("samples/") and name.endswith(".json")]
            for name in samples:
                try:
                    sample = json.loads(read_entry(archive, name))
                except (ValueError, zstandard.ZstdError, zipfile.BadZipFile) as error:
                    yield Refused(f"{path.name}/{name}", f"the entry cannot be read ({error})")
                    continue
                yield _sample(mapping(sample), header, f"{path.name}/{name}", options)
    except zipfile.BadZipFile as error:
        raise UnreadableImportError(
            f"{path} was asked for as an Inspect log, but is no whole archive ({error})."
        ) from None


def _header(archive: zipfile.ZipFile, names: list[str], path: Path) -> Mapping[str, object]:
    name = next((n for n in ("header.json", "_journal/start.json") if n in names), None)
    if name is None:
        raise UnreadableImportError(
            f"{path} holds no header.json: it is no Inspect log, or was cut off before it began."
        )
    return mapping(json.loads(read_entry(archive, name)))


def read_entry(archive: zipfile.ZipFile, name: str) -> bytes:
    """The bytes of an entry, zstd included, which Python's zipfile cannot decompress before 3.14."""
    info = archive.getinfo(name)
    if info.compress_type != _ZSTD:
        return archive.read(name)
    stream = archive.fp
    assert stream is not None
    stream.seek(info.header_offset)
    header = stream.read(30)
    name_length, extra_length = struct.unpack("<HH", header[26:30])
    stream.seek(info.header_offset + 30 + name_length + extra_length)
    with zstandard.ZstdDecompressor().stream_reader(io.BytesIO(stream.read(info.compress_size))) as reader:
        return bytes(reader.read())


def _read_json(path: Path, options: Options) -> Iterator[Trial | Refused]:
    log = mapping(load_json(path))
    samples = log.get("samples")
    if not isinstance(samples, list):
        raise UnreadableImportError(
            f"{path} was asked for as an Inspect log, but has no list of samples: give the whole log."
        )
    for number, sample in enumerate(samples):
        yield _sample(mapping(sample), log, f"{path.name}/{number}", options)


def _sample(
    sample: Mapping[str, object], header: Mapping[str, object], source: str, options: Options
) -> Trial | Refused:
    evaluation = mapping(header.get("eval"))
    task, epoch = sample.get("id"), whole(sample.get("epoch"))
    if task is None or epoch is None:
        return Refused(source, "the sample has no id or no epoch")
    scores = mapping(sample.get("scores"))
    score = _first_score(scores)
    if scores and score is None and not sample.get("error"):
        return Refused(source, f"the score {_first_value(scores)!r} is no finite number and no letter of Inspect's")
    usage = [mapping(value) for value in mapping(sample.get("model_usage")).values()]
    model = str(evaluation.get("model") or "unknown")
    return Trial(
        source=source,
        suite=str(evaluation.get("task") or "inspect"),
        agent=str(evaluation.get("solver") or "") + model if evaluation.get("solver") else model,
        task=str(task),
        status=_status(sample, score, options),
        score=score,
        repeat=epoch - 1,
        sweep=str(evaluation.get("run_id") or evaluation.get("eval_id") or "inspect"),
        started_at=moment(sample.get("started_at")) or moment(evaluation.get("created")),
        finished_at=moment(sample.get("completed_at")),
        known=_known(sample, evaluation, usage, scores),
    )


def _first_value(scores: Mapping[str, object]) -> object:
    return mapping(next(iter(scores.values()), None)).get("value")


def _first_score(scores: Mapping[str, object]) -> float | None:
    value = _first_value(scores)
    return _LETTERS.get(value, finite(value)) if isinstance(value, str) else finite(value)


def _status(sample: Mapping[str, object], score: float | None, options: Options) -> Status:
    if sample.get("error"):
        return Status.SANDBOX_ERROR
    limit = str(mapping(sample.get("limit")).get("type") or "")
    if score is None:
        return _LIMITS.get(limit, Status.GRADER_ERROR)
    if score >= options.pass_at - 1e-6:
        return Status.PASSED
    return _LIMITS.get(limit, Status.FAILED)


def _known(
    sample: Mapping[str, object],
    evaluation: Mapping[str, object],
    usage: list[Mapping[str, object]],
    scores: Mapping[str, object],
) -> dict[str, object]:
    def total(key: str) -> int | None:
        found = [whole(entry.get(key)) for entry in usage]
        return sum(value for value in found if value is not None) if any(v is not None for v in found) else None

    costs = [finite(entry.get("total_cost")) for entry in usage]
    retries = sample.get("error_retries")
    numbers = {name: finite(mapping(score).get("value")) for name, score in scores.items()}
    limit = mapping(sample.get("limit"))
    error = mapping(sample.get("error"))
    return {
        "suite_version": str(evaluation.get("task_version")) if evaluation.get("task_version") is not None else None,
        "model": evaluation.get("model"),
        "rewards": {name: value for name, value in numbers.items() if value is not None} or None,
        "grader": "+".join(scores) or None,
        "tokens_in": total("input_tokens"),
        "tokens_out": total("output_tokens"),
        "tokens_cache_read": total("input_tokens_cache_read"),
        "tokens_cache_written": total("input_tokens_cache_write"),
        "cost_usd": sum(c for c in costs if c is not None) if any(c is not None for c in costs) else None,
        "total_s": finite(sample.get("total_time")),
        "agent_ending": "limit" if limit else None,
        "failure_kind": "error" if error else (str(limit.get("type")) if limit else None),
        "failure_message": str(error.get("message"))[:300] if error else None,
        "flags": [f"retried_in_harness:{len(retries)}"] if isinstance(retries, list) and retries else None,
    }
