"""The note of a compaction under way: which files one joined file replaces. Read by every reader."""

import json

from orchestrator.storage.root import Root

NOTE = "trials/_compaction.json"


def replaced(root: Root) -> frozenset[str]:
    """Members of a compaction whose joined file is there: their rows are read from it."""
    if not root.exists(NOTE):
        return frozenset()
    note = json.loads(root.read(NOTE))
    return frozenset(note["members"]) if root.exists(note["joined"]) else frozenset()


def finish(root: Root) -> None:
    """Take away the members of a compaction that got as far as its joined file, and its note."""
    for path in replaced(root):
        root.remove(path)
    root.remove(NOTE)
