"""Inspect AI logs: `.eval` archives, whose entries may be compressed with zstd, and their `.json` form."""

import io
import json
import struct
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import zstandard

from orchestrator.analysis.importers.base import (
    Options,
    Refused,
    Trial,
    UnreadableImportError,
    mapping,
    moment,
    whole,
)
from orchestrator.analysis.importers.inspect_figures import Figures
from orchestrator.analysis.importers.inspect_sample import chosen, columns_of, number_of, remark_of, status_of
from orchestrator.analysis.importers.json_stream import items, outline
from orchestrator.core.status import Status

VERSIONS = (1, 2)
_ZSTD = 93


class Inspect:
    """One log file, or a folder of logs."""

    name = "inspect"

    def recognises(self, path: Path) -> bool:
        if path.is_dir():
            return any(path.glob("*.eval")) or any(_looks_like_log(file) for file in list(path.glob("*.json"))[:1])
        if path.suffix == ".eval":
            return True
        return path.suffix == ".json" and _looks_like_log(path)

    def read(self, path: Path, options: Options) -> Iterator[Trial | Refused]:
        """Samples one by one; neither form of a log is ever held as a whole."""
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
            log = Log(_header(archive, names, path), path, options)
            for name in names:
                if not name.startswith("samples/") or not name.endswith(".json"):
                    continue
                try:
                    sample = json.loads(read_entry(archive, name))
                except (ValueError, zstandard.ZstdError, zipfile.BadZipFile) as error:
                    yield Refused(f"{path.name}/{name}", f"the entry cannot be read ({error})")
                    continue
                yield from log.trials(mapping(sample), f"{path.name}/{name}")
            yield from log.missing()
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
    found = outline(path, "samples")
    if "samples" not in found.arrays:
        raise UnreadableImportError(
            f"{path} was asked for as an Inspect log, but has no list of samples: give the whole log."
        )
    log = Log(found.members, path, options)
    for number, sample in enumerate(items(path, "samples")):
        yield from log.trials(mapping(sample), f"{path.name}/{number}")
    yield from log.missing()


class Log:
    """What the head of a log says of every sample, and which of the samples it speaks of were found.

    Raises UnreadableImportError for a version of the format that is not known.
    """

    def __init__(self, header: Mapping[str, object], path: Path, options: Options) -> None:
        version = header.get("version")
        if version not in VERSIONS:
            known = ", ".join(map(str, VERSIONS))
            raise UnreadableImportError(
                f"{path} is an Inspect log of version {version!r}, but only the versions {known} are known: "
                "convert it with `inspect log convert`."
            )
        self._eval = mapping(header.get("eval"))
        self._name = path.name
        self._options = options
        self._results = mapping(header.get("results"))
        self._scorer: str | None = None
        self._figures = Figures()
        self._found: set[tuple[str, int]] = set()

    def trials(self, sample: Mapping[str, object], source: str) -> Iterator[Trial | Refused]:
        """The attempts of one sample: those that Inspect tried again itself, then the one it kept."""
        task, epoch = sample.get("id"), whole(sample.get("epoch"))
        if task is None or epoch is None:
            yield Refused(source, "the sample has no id or no epoch")
            return
        scores = mapping(sample.get("scores"))
        try:
            value = chosen(scores, self._options.mapping.get("score"))
        except KeyError as error:
            raise UnreadableImportError(
                f"{source}: the mapping takes the score from {error.args[0]!r}, but there are {', '.join(scores)}."
            ) from None
        score = number_of(value)
        if (str(task), epoch) not in self._found:
            self._figures.add(str(task), score)
        self._found.add((str(task), epoch))
        self._scorer = self._scorer or self._options.mapping.get("score") or next(iter(scores), None)
        if isinstance(value, Mapping | list):
            keys = ", ".join(map(str, value)) if isinstance(value, Mapping) else f"{len(value)} values"
            yield Refused(source, f"the score holds several ({keys}); take one with --map score=SCORER.KEY")
            return
        status = status_of(sample, score, self._options)
        model = str(self._eval.get("model") or "unknown")
        solver = self._eval.get("solver")
        kept = Trial(
            source=source,
            suite=str(self._eval.get("task") or "inspect"),
            agent=f"{solver}+{model}" if solver else model,
            task=str(task),
            status=status,
            score=score,
            repeat=epoch - 1,
            sweep=str(self._eval.get("run_id") or self._eval.get("eval_id") or "inspect"),
            started_at=moment(sample.get("started_at")) or moment(self._eval.get("created")),
            finished_at=moment(sample.get("completed_at")),
            known=columns_of(sample, self._eval, scores),
            remark=remark_of(value, score, status),
        )
        retried = sample.get("error_retries")
        earlier = [mapping(entry) for entry in retried] if isinstance(retried, list) else []
        for number, entry in enumerate(earlier):
            known = {"model": model, "failure_kind": "error", "failure_message": str(entry.get("message"))[:300]}
            yield replace(kept, status=Status.SANDBOX_ERROR, score=None, finished_at=None, known=known,
                          attempt=number, final=False, remark=None)  # fmt: skip
        yield replace(kept, attempt=len(earlier))

    def missing(self) -> Iterator[Refused]:
        """What was planned and left nothing, and figures of the log that do not follow from its samples."""
        dataset, config = mapping(self._eval.get("dataset")), mapping(self._eval.get("config"))
        ids, epochs = dataset.get("sample_ids"), whole(config.get("epochs")) or 1
        planned = (len(ids) if isinstance(ids, list) else whole(dataset.get("samples")) or 0) * epochs
        if planned > len(self._found):
            lost = planned - len(self._found)
            yield Refused(self._name, f"{lost} of {planned} planned samples are not in the log: it was stopped")
        for sentence in self._figures.differences(self._results, self._scorer):
            yield Refused(self._name, sentence)
