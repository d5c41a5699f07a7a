"""`python -m orchestrator.cli`: the same as `passhat`."""

from orchestrator.cli.main import main

main()
