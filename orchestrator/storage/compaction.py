"""Joins the small Parquet files of each partition without losing a reader.

Order of things: the joined file is written whole under a name that hashes its members; then the members are
removed. A crash between the two would leave rows twice, so a note of what replaces what is written before
the joined file appears, and every reader of ours leaves out members whose joined file exists. Other readers
see the rows twice only if a crash falls between the two steps, until `passhat compact` is run again.
"""

import hashlib
import io
import json
from collections import defaultdict

import pyarrow as pa
import pyarrow.parquet as pq

from orchestrator.storage.joining import NOTE, finish
from orchestrator.storage.reading import ResultsError, list_rows, read_file
from orchestrator.storage.root import Root
from orchestrator.storage.schema import trials_schema, without_partition_keys

TARGET_BYTES = 128_000_000


def compact(location: str) -> tuple[int, int]:
    """(number of files before, after). Partitions of one file are left alone. Raises ResultsError.

    Files whose journal segment still exists are left to the segment's recovery, which writes them again.
    """
    root = Root(location)
    finish(root)
    by_folder: dict[str, list[tuple[str, int]]] = defaultdict(list)
    listing = list_rows(root)
    if listing.problems:
        raise ResultsError(listing.problems[0])
    for path, size in listing.files:
        by_folder[path.rsplit("/", 1)[0]].append((path, size))
    before = sum(map(len, by_folder.values()))
    after = 0
    for folder, files in sorted(by_folder.items()):
        groups = _groups(files)
        for group in groups:
            if len(group) > 1:
                _join(root, folder, group)
        after += len(groups)
    return before, after


def _groups(files: list[tuple[str, int]]) -> list[list[str]]:
    groups: list[list[str]] = []
    room = 0
    for path, size in files:
        if not groups or size > room:
            groups.append([])
            room = TARGET_BYTES
        groups[-1].append(path)
        room -= size
    return groups


def _join(root: Root, folder: str, members: list[str]) -> None:
    names = trials_schema().names
    table = pa.concat_tables([read_file(root, path, names) for path in members]).cast(trials_schema())
    digest = hashlib.sha256("\0".join(members).encode()).hexdigest()[:20]
    joined = f"{folder}/part-joined{digest}-000000.parquet"
    root.write(NOTE, json.dumps({"joined": joined, "members": members}).encode())
    buffer = io.BytesIO()
    pq.write_table(without_partition_keys(table), buffer, compression="zstd")
    root.write(joined, buffer.getvalue())
    finish(root)
