"""Transcripts and artifacts: compressed files by attempt id, beside the rows that name them and their hash."""

import hashlib

from orchestrator.storage.root import Root


def write_blob(root: Root, sweep_id: str, attempt_id: str, suffix: str, data: bytes) -> tuple[str, str]:
    """Store bytes; returns (name below the root, sha256). Two letters of the id spread the folders."""
    name = f"transcripts/{sweep_id}/{attempt_id[:2]}/{attempt_id}{suffix}"
    root.write(name, data, durable=False)
    return name, hashlib.sha256(data).hexdigest()
