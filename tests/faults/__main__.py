"""Every kind of fault at random moments of real sweeps: a table on the screen, and build/faults.json."""

import argparse
import json
import random
import sys
import tempfile
import time
from dataclasses import asdict
from pathlib import Path

from sandboxes.docker import DockerProvider
from tests.faults.model import paid_model
from tests.faults.scenes import SCENES, WEIGHTS, Stage

TARGET = Path("build/faults.json")


def main() -> int:
    """1 when anything was lost, doubled, leaked or ended otherwise than it must."""
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__)
    parser.add_argument("--injections", type=int, default=sum(WEIGHTS.values()), help="over all kinds together")
    parser.add_argument("--seed", type=int, default=None, help="of the moments and victims; printed when not given")
    parser.add_argument("--only", action="append", default=[], help="part of a kind's name; may be repeated")
    options = parser.parse_args()
    seed = options.seed if options.seed is not None else random.SystemRandom().randrange(1 << 32)
    chosen = [kind for kind in SCENES if not options.only or any(part in kind for part in options.only)]
    share = options.injections / sum(WEIGHTS[kind] for kind in chosen)
    print(
        f"seed {seed}\n{'kind':28} {'injected':>8} {'lost':>5} {'doubled':>7} {'leaked':>6} {'wrong':>5} {'failed, paid':>11} {'s':>5}"
    )
    earlier = json.loads(TARGET.read_text(encoding="utf-8")) if options.only and TARGET.is_file() else {}
    table: dict[str, dict[str, object]] = {}
    provider = DockerProvider()
    try:
        for kind in chosen:
            begun_s = time.monotonic()
            count = max(1, round(WEIGHTS[kind] * share))
            with tempfile.TemporaryDirectory(prefix="passhat-faults-") as place, paid_model() as paid:
                stage = Stage(Path(place), provider, random.Random(f"{seed} {kind}"), paid)
                checked = SCENES[kind](kind, count, stage)
            print(
                f"{kind:28} {checked.injected:8} {checked.lost:5} {checked.doubled:7} {checked.leaked:6}"
                f" {checked.wrong:5} {checked.failed_paid:11} {time.monotonic() - begun_s:5.0f}"
            )
            for note in checked.notes[:5]:
                print(f"    {note}")
            sys.stdout.flush()
            table[kind] = {name: value for name, value in asdict(checked).items() if name != "notes"}
            TARGET.parent.mkdir(exist_ok=True)
            TARGET.write_text(json.dumps({**earlier, **table}, indent=1) + "\n", encoding="utf-8")
    finally:
        provider.close()
    total = {
        name: sum(int(str(row[name])) for row in table.values())
        for name in ("injected", "lost", "doubled", "leaked", "wrong", "failed_paid")
    }
    print(", ".join(f"{value} {name}" for name, value in total.items()) + f"; written to {TARGET}")
    return 1 if any(total[name] for name in ("lost", "doubled", "leaked", "wrong")) else 0


if __name__ == "__main__":
    sys.exit(main())
