"""The store of recorded traffic: complete, clean of secrets, and honest about what it does not hold."""

import json
from pathlib import Path

import pytest

from orchestrator.models.recording import Player, Recorder, RecordingError, Store, tape_name


def body(text: str, **extra: object) -> bytes:
    return json.dumps({"model": "m", "messages": [{"role": "user", "content": text}], **extra}).encode()


def test_exchanges_come_back_in_order_each_once(tmp_path: Path) -> None:
    store = Store(tmp_path)
    recorder = Recorder(store, "t")
    recorder.add(body("a"), 429, "application/json", b"slow down", retry_after="2")
    recorder.add(body("a"), 200, "text/event-stream", b"one", broken=True)
    recorder.add(body("b"), 200, "text/event-stream", b"two")
    recorder.finish()
    player = Player(store, "t")
    assert [player.answer(body("a")).status for _ in range(2)] == [429, 200]
    assert store.get(player.answer(body("b")).body) == b"two"
    assert player.left == 0
    with pytest.raises(RecordingError, match="one request more"):
        player.answer(body("b"))


def test_what_does_not_matter_is_not_compared(tmp_path: Path) -> None:
    recorder = Recorder(Store(tmp_path), "t")
    recorder.add(body("a", metadata={"user_id": "x"}), 200, "j", b"one")
    recorder.finish()
    same = json.dumps(dict(reversed(json.loads(body("a", metadata={"user_id": "y"})).items()))).encode()
    assert Player(Store(tmp_path), "t").answer(same).status == 200


def test_an_unknown_request_comes_with_a_diff(tmp_path: Path) -> None:
    recorder = Recorder(Store(tmp_path), "t")
    recorder.add(body("total: 41"), 200, "j", b"one")
    recorder.finish()
    with pytest.raises(RecordingError) as error:
        Player(Store(tmp_path), "t").answer(body("total: 42"))
    assert '-   "content": "total: 41"' in str(error.value)
    assert '+   "content": "total: 42"' in str(error.value)


def test_secrets_are_removed_from_all_that_is_kept(tmp_path: Path) -> None:
    store = Store(tmp_path, (b"plain-canary-key",))
    recorder = Recorder(store, "t")
    recorder.add(body("my key is plain-canary-key"), 200, "j", b"sk-ant-api03-abcdefgh12345 plain-canary-key")
    recorder.finish()
    kept = [store.get(path.name.removesuffix(".zst")) for path in tmp_path.rglob("*.zst")]
    assert len(kept) == 2
    assert not any(b"canary" in data or b"sk-ant" in data for data in kept)
    assert Player(store, "t").answer(body("my key is plain-canary-key")).status == 200


def test_a_tape_appears_whole_or_not_at_all(tmp_path: Path) -> None:
    recorder = Recorder(Store(tmp_path), "t")
    recorder.add(body("a"), 200, "j", b"one")
    with pytest.raises(RecordingError, match="nothing was recorded for t"):
        Player(Store(tmp_path), "t").answer(body("a"))
    recorder.finish()
    assert not list(tmp_path.rglob("*.part"))


def test_the_same_content_is_stored_once_and_checked_when_read(tmp_path: Path) -> None:
    store = Store(tmp_path)
    name = store.put(b"x" * 1000)
    assert store.put(b"x" * 1000) == name
    (file,) = tmp_path.rglob("*.zst")
    assert file.stat().st_size < 100
    other = store.put(b"y")
    file.write_bytes((tmp_path / "blobs" / other[:2] / f"{other}.zst").read_bytes())
    with pytest.raises(RecordingError, match="was changed"):
        store.get(name)
    file.write_bytes(b"garbage")
    with pytest.raises(RecordingError, match="cannot be read"):
        store.get(name)


def test_a_file_that_is_no_tape_is_named(tmp_path: Path) -> None:
    (tmp_path / "tapes").mkdir()
    (tmp_path / "tapes/t.jsonl").write_text("{}\n")
    with pytest.raises(RecordingError, match="is not a tape"):
        Store(tmp_path).read_tape("t")


def test_a_tapes_name_follows_from_what_must_be_the_same() -> None:
    assert tape_name("t", "a", 1) == tape_name("t", "a", 1)
    assert len({tape_name("t", "a", 1), tape_name("t", "a", 2), tape_name("t", "b", 1), tape_name("ta", "", 1)}) == 4
