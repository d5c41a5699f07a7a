"""Every cheat against both grading modes: a table on the screen, and build/hostile.json."""

import json
import sys
import tempfile
import time
from dataclasses import asdict
from pathlib import Path

from tests.hostile.attack import Result, attack
from tests.hostile.cheats import ANSWER, LIBRARY
from tests.hostile.tasks import write_answer_suite, write_library_suite

TARGET = Path("build/hostile.json")


def main() -> int:
    """1 when a cheat passes, something leaks, or an honest solution fails."""
    wanted = sys.argv[1:]  # parts of names; what the file holds of other cheats stays
    started = time.time()
    found: list[Result] = []
    with tempfile.TemporaryDirectory(prefix="passhat-hostile-") as name:
        place = Path(name)
        for kind, cheats, write in (
            ("answer", ANSWER, write_answer_suite),
            ("library", LIBRARY, write_library_suite),
        ):
            chosen = {n: s for n, s in cheats.items() if not wanted or any(w in f"{kind}/{n}" for w in wanted)}
            if chosen:
                found += attack(write(place / kind), chosen, place / f"{kind}-results")
    for result in found:
        flags = ", ".join((*result.flags[:3], *(f"LEAK {leak}" for leak in result.leaks)))
        mark = "PASSES" if result.bad else ""
        kept_out = " (kept out)" if result.suspect else ""
        print(
            f"{result.cheat:28} {result.task:17} {result.status + kept_out:26} {mark:6} {flags[:110]} {result.message}"
        )
    bad = [result for result in found if result.bad]
    TARGET.parent.mkdir(exist_ok=True)
    done = {(result.cheat, result.task) for result in found}
    earlier = json.loads(TARGET.read_text(encoding="utf-8")) if wanted and TARGET.is_file() else []
    rows = [row for row in earlier if (row["cheat"], row["task"]) not in done]
    rows += [{**asdict(result), "mode": result.mode, "passes": result.passes} for result in found]
    TARGET.write_text(json.dumps(rows, indent=1, ensure_ascii=True) + "\n", encoding="utf-8")
    print(f"{len(found)} rows, {len(bad)} bad, {time.time() - started:.0f} s; written to {TARGET}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
