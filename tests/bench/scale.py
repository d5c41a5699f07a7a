"""`make bench-scale`: 100,000 trials for real and 64,000 cores simulated; prints a table, writes build/scale.json."""

import argparse
import json
import platform
import sys
import time
from pathlib import Path

from rich.console import Console
from rich.table import Table

from tests.bench import scale_cluster, scale_sweep

TARGET = Path("build/scale.json")


def main() -> int:
    """1 when resuming takes 10 s or more, or the driver's memory grows by more than a tenth from 10% on."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.scale", description=__doc__)
    parser.add_argument("--repeats", type=int, default=scale_sweep.REPEATS, help="of 100 tasks and 2 agents")
    options = parser.parse_args()
    sweep = scale_sweep.measure(repeats=options.repeats)
    cluster = scale_cluster.measure(1.0 / sweep["trials_per_s"])
    flat = sweep["driver_mb_at_100_percent"] / sweep["driver_mb_at_10_percent"]
    found = {"date": time.strftime("%Y-%m-%d"), "machine": platform.platform(), "sweep": sweep, "cluster": cluster}
    TARGET.parent.mkdir(exist_ok=True)
    TARGET.write_text(json.dumps(found, indent=1))
    table = Table(box=None, header_style="bold")
    table.add_column("what")
    table.add_column("measured", justify="right")
    for name, value in sweep.items():
        table.add_row(name, f"{value:,.4g}" if value < 10_000 else f"{value:,.0f}")
    table.add_row("driver's memory, end against a tenth of the way", f"{flat:.2f}")
    for name, value in cluster.items():
        if isinstance(value, int | float):
            table.add_row(name, f"{value:,.4g}" if value < 10_000 else f"{value:,.0f}")
    Console(width=110).print(table)
    shares, limits, steps = (cluster[key] for key in ("share_of_one_process", "nodes_until_saturated", "next_steps"))
    assert isinstance(shares, dict)
    assert isinstance(limits, dict)
    assert isinstance(steps, dict)
    print(f"1,000 nodes x 64 cores, {scale_cluster.TRIAL_S:.0f} s a trial, 90% of it waiting on the model:")
    for name, share in shares.items():
        print(f"  {name}: {share:.2f} of one process, full at {limits[name]:,} nodes; next: {steps[name]}")
    print(
        f"  a turn of the driver's loop takes {cluster['driver_turn_s']:.1f} s, for which"
        f" {cluster['cores_idle_for_the_driver']:.2%} of the cores stand idle; next: {steps['turn']}"
    )
    return 0 if sweep["resume_s"] < 10 and flat <= 1.1 else 1


if __name__ == "__main__":
    sys.exit(main())
