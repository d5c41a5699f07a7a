"""Tasks of other benchmarks on the real engine: the oracle passes, doing nothing fails."""

import difflib
import io
import json
import tarfile
from pathlib import Path

import pytest

from sandboxes.bootstrap import BASE_REFERENCE
from suites.importing import import_questions, import_repo_rows
from tests.integration.suites.attempts import outcomes, rows

pytestmark = pytest.mark.docker
LEGACY = {
    "task.yaml": "instruction: Ask the store for its word and write it to /app/word.\ndifficulty: easy\nparser_name: pytest\n",
    "docker-compose.yaml": f"""services:
  client:
    build: {{dockerfile: Dockerfile}}
    image: ${{T_BENCH_TASK_DOCKER_CLIENT_IMAGE_NAME}}
    container_name: ${{T_BENCH_TASK_DOCKER_CLIENT_CONTAINER_NAME}}
    command: ["sh", "-c", "sleep infinity"]
    environment: ["TEST_DIR=${{T_BENCH_TEST_DIR}}"]
    volumes:
      - ${{T_BENCH_TASK_LOGS_PATH}}:${{T_BENCH_CONTAINER_LOGS_PATH}}
      - ${{T_BENCH_TASK_AGENT_LOGS_PATH}}:${{T_BENCH_CONTAINER_AGENT_LOGS_PATH}}
    depends_on: [store]
  store:
    image: {BASE_REFERENCE}
    command: ["sh", "-c", "cd /srv && echo plum > word && exec python3 -m http.server 8000"]
    mem_limit: 96m
    healthcheck: {{test: "python3 -c 'import urllib.request as u; u.urlopen(\\"http://localhost:8000/word\\")'", retries: 5}}
""",
    "Dockerfile": f"FROM {BASE_REFERENCE}\nWORKDIR /app\n",
    "solution.sh": "#!/bin/bash\npython3 -c \"import urllib.request as u; open('/app/word', 'wb').write(u.urlopen('http://store:8000/word').read())\"\n",
    "run-tests.sh": """#!/bin/bash
[ "$(cat /app/word)" = plum ] && ended=PASSED || ended=FAILED
echo "=========== short test summary info ==========="
echo "$ended $TEST_DIR/test_outputs.py::test_word"
echo "=========== 1 ${ended,,} in 0.01s ==========="
""",
    "tests/test_outputs.py": "def test_word():\n    assert open('/app/word').read() == 'plum\\n'\n",
}


def test_a_legacy_task_with_a_service_runs_as_it_is(tmp_path: Path) -> None:
    folder = tmp_path / "suite" / "legacy"
    for name, text in LEGACY.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    found = rows(outcomes(tmp_path / "suite", tmp_path / "results"))
    assert [found["legacy", agent]["status"] for agent in ("oracle", "nop")] == ["PASSED", "FAILED"], found
    assert found["legacy", "oracle"]["grader"] == "pytest"


def test_a_row_of_a_repository_is_built_patched_and_graded_by_its_tests(tmp_path: Path) -> None:
    code = {
        "shop.py": "def total(prices):\n    return sum(prices[1:])\n\n\ndef count(prices):\n    return len(prices)\n"
    }
    code["test_shop.py"] = "import shop\n\n\ndef test_count():\n    assert shop.count([1, 2]) == 2\n"
    with tarfile.open(tmp_path / "made__shop-1.tar.gz", "w:gz") as archive:
        for name, text in code.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(text)
            archive.addfile(entry, io.BytesIO(text.encode()))
    tested = code["test_shop.py"] + "\n\ndef test_total():\n    assert shop.total([1, 2]) == 3\n"
    row = {
        "instance_id": "made__shop-1",
        "repo": "made/shop",
        "problem_statement": "The total leaves out the first price.",
        "patch": _patch("shop.py", code["shop.py"], code["shop.py"].replace("[1:]", "")),
        "test_patch": _patch("test_shop.py", code["test_shop.py"], tested),
        "FAIL_TO_PASS": json.dumps(["test_shop.py::test_total"]),
        "PASS_TO_PASS": json.dumps(["test_shop.py::test_count"]),
        "install": "apt-get update && apt-get install -y --no-install-recommends git patch python3-pytest",
    }
    report = import_repo_rows([row], tmp_path / "suite", tmp_path)
    assert not report.refused
    found = rows(outcomes(tmp_path / "suite", tmp_path / "results"))
    assert [found["made__shop-1", agent]["status"] for agent in ("oracle", "nop")] == ["PASSED", "FAILED"], found
    assert found["made__shop-1", "oracle"]["grader"] == "tests"


def _patch(name: str, before: str, after: str) -> str:
    lines = (before.splitlines(keepends=True), after.splitlines(keepends=True))
    return "".join(difflib.unified_diff(*lines, f"a/{name}", f"b/{name}"))


def test_an_imported_question_is_graded_by_its_answer(tmp_path: Path) -> None:
    (tmp_path / "table.csv").write_text("island,people\nOru,40\nSel,2\n", encoding="utf-8")
    question = {"task_id": "q-1", "Question": "How many?", "Level": 1, "Final answer": "42", "file_name": "table.csv"}
    report = import_questions([question], tmp_path / "suite", tmp_path)
    assert not report.refused
    found = rows(outcomes(tmp_path / "suite", tmp_path / "results"))
    assert [found["q-1", agent]["status"] for agent in ("oracle", "nop")] == ["PASSED", "FAILED"], found
