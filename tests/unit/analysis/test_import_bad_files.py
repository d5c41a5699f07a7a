"""Every importer says one sentence about a bad file, by the command's own entry, and its exit code is not 0.

A format without versions, suites or scores in its files has no such case: tau-bench, loops and tables carry no
version; SWE-bench, promptfoo and loops name no suite; SWE-bench has no scores.
"""

import json
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from orchestrator.analysis.importers.run import IMPORTERS
from orchestrator.cli.main import main

DATA = Path(__file__).parents[2] / "data"
HARBOR, INSPECT = DATA / "results/harbor", DATA / "inspect"
TAU = DATA / "results/tau-bench/tool-calling-gpt-4o-0.0_range_0-7_user-gpt-4o-llm.json"
TAU2 = DATA / "results/tau-bench/tau2_airline.json"
SWE = DATA / "results/swe-bench/agent-v1.5__claude.nightly.json"
PROMPTFOO = DATA / "results/promptfoo/output.json"
LOOP, HEADLESS = DATA / "results/claude-loop/loop.jsonl", DATA / "results/claude-loop/headless"
DOCUMENTS = [INSPECT / "short.json", TAU, TAU2, SWE, PROMPTFOO]
Bad = Callable[[Path], Path]


def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *words: object) -> tuple[int, str]:
    """The exit code of the console script and what it said on stderr. Anything but an exit is a traceback."""
    monkeypatch.setattr("sys.argv", ["passhat", "import", *map(str, words)])
    with pytest.raises(SystemExit) as ended:
        main()
    return int(ended.value.code or 0), " ".join(capsys.readouterr().err.split())


def copied(source: Path, folder: Path) -> Path:
    target = folder / source.name
    return Path(shutil.copytree(source, target) if source.is_dir() else shutil.copy(source, target))


def cut(source: Path, keep: float = 0.6) -> Bad:
    def make(folder: Path) -> Path:
        path = folder / source.name
        path.write_bytes(source.read_bytes()[: int(source.stat().st_size * keep)])
        return path

    return make


def changed(source: Path, change: Callable[[dict], object], inner: str = "") -> Bad:
    """The same document, or the one at `inner` of a folder, after a change in place."""

    def make(folder: Path) -> Path:
        path = copied(source, folder)
        file = path / inner if inner else path
        document = json.loads(file.read_text())
        change(document)
        file.write_text(json.dumps(document))
        return path

    return make


def text(name: str, content: str) -> Bad:
    def make(folder: Path) -> Path:
        (folder / name).write_text(content)
        return folder / name

    return make


def parquet(**columns: list) -> Bad:
    def make(folder: Path) -> Path:
        pq.write_table(pa.table(columns), folder / "t.parquet")
        return folder / "t.parquet"

    return make


def harbor_cut(folder: Path) -> Path:
    path = copied(HARBOR / "p-multi", folder)
    file = path / "multi__onf3UMe/result.json"
    file.write_text(file.read_text()[:500])
    return path


def harbor_twice(folder: Path) -> Path:
    path = copied(HARBOR / "p-multi", folder)
    shutil.copytree(path / "multi__onf3UMe", path / "multi__zzzzzzz")
    return path


def eval_entry(change: Callable[[dict[str, bytes]], None]) -> Bad:
    """short.eval with its entries changed; they are stored without zstd, which Inspect reads as well."""

    def make(folder: Path) -> Path:
        from orchestrator.analysis.importers.inspect_log import read_entry

        with zipfile.ZipFile(INSPECT / "retries.eval") as archive:
            entries = {name: read_entry(archive, name) for name in archive.namelist()}
        change(entries)
        with zipfile.ZipFile(folder / "log.eval", "w") as archive:
            for name, data in entries.items():
                archive.writestr(name, data)
        return folder / "log.eval"

    return make


def newer_header(entries: dict[str, bytes]) -> None:
    entries["header.json"] = json.dumps({**json.loads(entries["header.json"]), "version": 9}).encode()


def sample_twice(entries: dict[str, bytes]) -> None:
    entries["samples/steady_epoch_1_again.json"] = entries["samples/steady_epoch_1.json"]


def torn_sample(entries: dict[str, bytes]) -> None:
    entries["samples/steady_epoch_1.json"] = entries["samples/steady_epoch_1.json"][:200]


def two_logs(folder: Path) -> Path:
    for name in ("limits", "retries"):
        copied(INSPECT / f"{name}.eval", folder)
    return folder


def two_jobs(folder: Path) -> Path:
    for name in ("b-oracle-n8-c4", "p-oom"):
        copied(HARBOR / name, folder)
    return folder


def first(document: dict) -> dict:
    return document["results"]["results"][0]


TRIAL = "multi__onf3UMe/result.json"
NAN = float("nan")
CASES: dict[str, tuple[Bad, str, tuple[str, ...]]] = {
    "truncated harbor": (harbor_cut, "may be cut off", ()),
    "truncated inspect eval": (cut(INSPECT / "errors.eval"), "is no whole archive", ()),
    "truncated inspect sample": (eval_entry(torn_sample), "the entry cannot be read", ()),
    "truncated inspect json": (cut(INSPECT / "short.json"), "may be cut off", ()),
    "truncated tau-bench": (cut(TAU), "may be cut off", ()),
    "truncated tau2-bench": (cut(TAU2), "may be cut off", ()),
    "truncated swe-bench": (cut(SWE, 0.9), "may be cut off", ()),
    "truncated promptfoo": (cut(PROMPTFOO), "may be cut off", ()),
    "truncated loop": (cut(LOOP, 0.55), "may be cut off", ()),
    "truncated headless": (cut(HEADLESS / "fix-parser-1.json", 0.9), "may be cut off", ()),
    "truncated csv": (text("t.csv", "task,trial,passed\na,0,1\nb,0"), "another number of fields", ()),
    "truncated jsonl": (text("t.jsonl", '{"task": "a", "passed": true}\n{"task": "b", "pas'), "may be cut off", ()),
    "truncated parquet": (lambda f: cut(parquet(task=["a"] * 99, passed=[True] * 99)(f))(f), "may be cut off", ()),
    "version harbor": (changed(HARBOR / "p-multi", lambda d: d.update(schema_version=7), TRIAL), "version 7", ()),
    "version inspect eval": (eval_entry(newer_header), "of version 9", ()),
    "version inspect json": (changed(INSPECT / "short.json", lambda d: d.update(version=9)), "of version 9", ()),
    "version swe-bench": (changed(SWE, lambda d: d.update(schema_version=9)), "of version 9", ()),
    "version promptfoo": (changed(PROMPTFOO, lambda d: d["results"].update(version=9)), "of version 9", ()),
    "duplicate harbor": (harbor_twice, "is there already", ()),
    "duplicate inspect eval": (eval_entry(sample_twice), "is there already", ()),
    "duplicate inspect json": (
        changed(INSPECT / "short.json", lambda d: d["samples"].append(d["samples"][0])), "is there already", ()),
    "duplicate tau-bench": (changed(TAU, lambda d: d.append(d[0])), "is there already", ()),
    "duplicate tau2-bench": (
        changed(TAU2, lambda d: d["simulations"].append(d["simulations"][0])), "is there already", ()),
    "duplicate swe-bench": (
        changed(SWE, lambda d: d["unresolved_ids"].append(d["resolved_ids"][0])), "stands in two lists", ()),
    "duplicate promptfoo": (
        changed(PROMPTFOO, lambda d: d["results"]["results"].append(first(d))), "is there already", ()),
    "duplicate loop": (lambda f: text("l.jsonl", LOOP.read_text() * 2)(f), "is there already", ()),
    "duplicate headless": (
        changed(HEADLESS, lambda d: d.update(session_id="5f0c1f3e-0000-4000-8000-000000000001"), "fix-parser-2.json"),
        "is there already", ()),
    "duplicate csv": (text("t.csv", "task,trial,passed\na,0,1\na,0,0\n"), "is there already", ()),
    "duplicate jsonl": (text("t.jsonl", '{"task": "a", "trial": 1, "passed": true}\n' * 2), "is there already", ()),
    "duplicate parquet": (parquet(task=["a", "a"], trial=[0, 0], passed=[True, False]), "is there already", ()),
    "mixed harbor": (two_jobs, "of the suites tasks and harbor", ("--suite", "mine")),
    "mixed inspect": (two_logs, "of the suites limits and retries", ("--suite", "mine")),
    "mixed csv": (text("t.csv", "task,passed,suite\na,1,x\nb,1,y\n"), "of the suites x and y", ("--suite", "mine")),
    "mixed parquet": (
        parquet(task=["a", "b"], passed=[True, True], suite=["x", "y"]), "of the suites x and y", ("--suite", "mine")),
    "nan harbor": (
        changed(HARBOR / "p-multi", lambda d: d["verifier_result"]["rewards"].update(reward=NAN), TRIAL),
        "reward is nan, which is no finite number", ()),
    "nan inspect eval": (lambda f: copied(INSPECT / "letters.eval", f), "the score nan is no finite number", ()),
    "nan inspect json": (lambda f: copied(INSPECT / "short.json", f), "the score nan is no finite number", ()),
    "nan tau-bench": (changed(TAU, lambda d: d[0].update(reward=NAN)), "the reward is nan", ()),
    "nan tau2-bench": (
        changed(TAU2, lambda d: d["simulations"][0]["reward_info"].update(reward=NAN)), "the reward is nan", ()),
    "nan promptfoo": (changed(PROMPTFOO, lambda d: first(d).update(score=NAN)), "the score is nan", ()),
    "nan loop": (lambda f: text("l.jsonl", LOOP.read_text().replace("true", "NaN", 1))(f), "pass is nan", ()),
    "nan csv": (text("t.csv", "task,score\na,nan\nb,1\n"), "which is no finite number", ()),
    "nan jsonl": (text("t.jsonl", '{"task": "a", "score": NaN}\n{"task": "b", "score": 1}\n'), "no finite number", ()),
    "nan parquet": (parquet(task=["a", "b"], score=[NAN, 1.0]), "which is no finite number", ()),
    "nothing in it": (text("t.csv", ""), "gave no row as table", ()),
    "no text": (lambda f: (f / "t.csv").write_bytes(b"\xff\xfe\x00\x80") and f / "t.csv", "cannot be read", ()),
    "not there": (lambda f: f / "t.csv", "there is no such file or folder", ()),
    "an empty folder": (lambda f: f, "looks like none of the formats", ()),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_a_bad_file_gets_a_sentence_and_an_exit_code(
    case: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    make, said, more = CASES[case]
    (tmp_path / "in").mkdir()
    code, told = run(capsys, monkeypatch, make(tmp_path / "in"), "--results", tmp_path / "out", *more)
    assert code in (1, 2)
    assert said in told
    assert told.rstrip().endswith(".")
    assert len(told) < 700
    # A file that cannot be used at all leaves nothing behind; one with bad records keeps the others.
    assert (code == 2) == (not list((tmp_path / "out").rglob("*.parquet")))


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
@pytest.mark.parametrize("keep", [0.0, 0.02, 0.2, 0.5, 0.8, 0.999])
def test_a_document_cut_anywhere_is_noticed(
    document: Path, keep: float, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    code, told = run(capsys, monkeypatch, cut(document, keep)(tmp_path), "--results", tmp_path / "out")
    assert code == 2
    assert "cut off" in told or "looks like none of the formats" in told
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("name", [importer.name for importer in IMPORTERS])
def test_a_file_of_another_format_never_ends_in_a_traceback(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    table = text("t.csv", "task,passed\na,1\n")(tmp_path)
    files = [*DOCUMENTS, HARBOR, INSPECT, INSPECT / "short.eval", LOOP, HEADLESS, table, tmp_path]
    for file in files:
        code, told = run(capsys, monkeypatch, file, "--format", name, "--dry-run")
        assert code == 0 or told.rstrip().endswith("."), (file, told)


ODD: dict[str, Bad] = {
    "a time beyond all clocks": changed(TAU2, lambda d: d["simulations"][0].update(start_time=1e300, end_time=10**30)),
    "a time before all clocks": changed(
        TAU2, lambda d: d["simulations"][0].update(start_time="0001-01-01T00:00:00+14:00")),
    "a count of tokens beyond 64 bits": changed(
        HEADLESS, lambda d: d["usage"].update(input_tokens=10**30), "fix-parser-1.json"),
    "a latency without end": changed(PROMPTFOO, lambda d: first(d).update(latencyMs=1e300)),
    "a list for a number": changed(PROMPTFOO, lambda d: first(d).update(promptIdx=[])),
    "half a character in a name": changed(TAU2, lambda d: d["info"]["agent_info"].update(llm="\ud800")),
    "half a character in an id": changed(SWE, lambda d: d["resolved_ids"].append("\ud800")),
    "a number for a model": changed(INSPECT / "short.json", lambda d: d["eval"].update(model=float("inf"))),
    "an object for a version": changed(
        HARBOR / "p-multi", lambda d: d["agent_info"].update(version={"a": 1}), TRIAL),
    "figures of very many trials": text("t.csv", "agent,tasks,trials,pass^1\na,500,100000000000,50.0\n"),
    "a figure for a large k": text("t.csv", "agent,tasks,trials,pass^50\na,500,100,0.5\n"),
    "very many trials of one task": text("t.csv", "task,n,c\na,1000000000000,5\n"),
}  # fmt: skip


@pytest.mark.parametrize("odd", ODD)
def test_values_that_no_column_holds_end_in_rows_or_a_sentence(
    odd: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What cannot be stored is unknown; a trial whose other columns are sound is a row all the same."""
    (tmp_path / "in").mkdir()
    path = ODD[odd](tmp_path / "in")
    code, told = run(capsys, monkeypatch, path, "--results", tmp_path / "out")
    assert (code == 2) == (path.suffix == ".csv")
    assert code == 0 or told.rstrip().endswith(".")
    assert bool(list((tmp_path / "out").rglob("*.parquet"))) == (code != 2)


def test_a_negative_repeat_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = text("t.csv", "task,repeat,passed\na,-1,1\na,0,1\n")(tmp_path)
    code, told = run(capsys, monkeypatch, path, "--dry-run")
    assert (code, "-1 is no number of a repeat" in told) == (1, True)
