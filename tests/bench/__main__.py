"""`make bench`: runs every benchmark, prints a table, writes build/bench.json.

Each figure is a ratio against a peer or a floor measured in the same run, or a bound that does not depend on
the machine's speed alone. `python -m tests.bench NAME ...` runs only the modules named
and writes build/NAME.json; `load_bench` takes minutes, and is `make load`.
"""

import importlib
import json
import sys
from pathlib import Path

from rich.console import Console
from rich.table import Table

HOLDS = {True: "yes", False: "NO", None: "-"}
MODULES = ("startup_bench", "trial_bench", "orchestration_bench", "stats_bench", "analysis_bench", "models_bench")


def main(names: list[str]) -> int:
    found: list[dict[str, object]] = []
    for name in names or MODULES:
        print(f"running {name} ...", file=sys.stderr, flush=True)
        found += importlib.import_module(f"tests.bench.{name}").rows()
    table = Table(box=None, header_style="bold")
    for head, justify in (("name", "left"), ("value", "right"), ("unit", "left"), ("aim", "left"), ("holds", "left")):
        table.add_column(head, justify=justify, overflow="fold")
    for row in found:
        value = row["value"]
        shown = f"{value:.3g}" if isinstance(value, float) else str(value)
        table.add_row(str(row["name"]), shown, str(row["unit"]), str(row["aim"] or "-"), HOLDS[row["holds"]])
    Console(width=110).print(table)
    target = Path(f"build/{'-'.join(names) or 'bench'}.json")
    target.parent.mkdir(exist_ok=True)
    target.write_text(json.dumps(found, indent=1))
    return 0 if all(row["holds"] is not False for row in found) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
