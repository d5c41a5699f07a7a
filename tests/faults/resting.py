"""Faults put into the results of a sweep that stands still: what a crash, a disk or a copy leaves."""

import random
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq


def cut_journal(results: Path, rng: random.Random) -> bool:
    """Cut the youngest segment in the middle of its last record, as a crash of the machine would."""
    segments = sorted(results.glob("sweeps/*/journal/*.jsonl"), key=lambda path: path.stat().st_mtime)
    if not segments:
        return False
    data = segments[-1].read_bytes()
    last = data[:-1].rfind(b"\n") + 1
    if len(data) - last < 4:
        return False
    segments[-1].write_bytes(data[: rng.randrange(last + 1, len(data) - 1)])
    return True


def _part(results: Path, rng: random.Random) -> Path | None:
    found = sorted(results.glob("trials/**/*.parquet"))
    return rng.choice(found) if found else None


def zero_parquet(results: Path, rng: random.Random) -> Path | None:
    path = _part(results, rng)
    if path is not None:
        path.write_bytes(b"")
    return path


def torn_parquet(results: Path, rng: random.Random) -> Path | None:
    path = _part(results, rng)
    if path is not None:
        data = path.read_bytes()
        path.write_bytes(data[: rng.randrange(13, len(data) - 1)])
    return path


def bad_row_group(results: Path, rng: random.Random) -> Path | None:
    """Damage the pages and leave the footer whole, so that only reading the data can tell."""
    path = _part(results, rng)
    if path is None:
        return None
    data = bytearray(path.read_bytes())
    group = pq.ParquetFile(pa.BufferReader(bytes(data))).metadata.row_group(0)
    for number in range(group.num_columns):
        column = group.column(number)
        start = column.dictionary_page_offset or column.data_page_offset
        for at in range(start, start + column.total_compressed_size):
            data[at] ^= 0xA5
    path.write_bytes(bytes(data))
    return path


DAMAGED = {
    "parquet of zero bytes": zero_parquet,
    "parquet torn": torn_parquet,
    "row group unreadable": bad_row_group,
}
