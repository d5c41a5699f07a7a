"""`make cluster-up`, `make cluster-down`: the test cluster for people."""

import sys

from orchestrator.execution.preparing import ensure_base
from tests.cluster.nodes import NODES, TestCluster


def main(argv: list[str]) -> int:
    cluster = TestCluster()
    match argv:
        case ["up"]:
            ensure_base(print)
            cluster.up()
            print(f"three nodes run: {', '.join(map(cluster.container, NODES))}; results: {cluster.results}")
            print(f"for example: docker exec {cluster.container('head')} passhat run SWEEP --address auto")
        case ["down"]:
            cluster.down()
            print(f"nothing is left of {cluster.name} but {cluster.results}")
        case _:
            print("usage: python -m tests.cluster up|down", file=sys.stderr)
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
