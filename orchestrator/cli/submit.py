"""`passhat submit`, `attach`, `cancel`: a sweep that runs in the cluster and not in this terminal."""

import time
from pathlib import Path
from typing import Annotated

import typer

Address = Annotated[str, typer.Option(help="Ray cluster (auto, host:port, ray://...).")]
Which = Annotated[str | None, typer.Argument(help="Sweep id or name; not needed when only one runs.")]
LOOK_S = 0.5


def submit_command(
    sweep: Annotated[Path, typer.Argument(help="The sweep file, e.g. sweep.toml.")],
    address: Address = "auto",
    results: Annotated[
        str | None, typer.Option(help="Results root instead of the file's: s3://..., or a folder of the head node.")
    ] = None,
    concurrency: Annotated[int | None, typer.Option(help="Trials at once at most.")] = None,
    wave: Annotated[int | None, typer.Option(help="Run this wave now, whatever the schedule says.")] = None,
    wait: Annotated[bool, typer.Option("--wait/--no-wait", help="Stay in the cluster until the last wave.")] = True,
    stay: Annotated[bool, typer.Option("--attach", help="Show the display at once.")] = False,
) -> None:
    """Start a sweep in the cluster and return. Its controller outlives this terminal, and its workers outlive it.

    Example: passhat submit sweep.toml --address auto
    """
    from orchestrator.config import load_sweep
    from orchestrator.execution.bundle import Bundle
    from orchestrator.execution.ray_connection import connect
    from orchestrator.execution.ray_controller import submit
    from orchestrator.execution.running import Request, gate_file, load_config
    from orchestrator.execution.shipping import pack

    request = Request(sweep=sweep, results=results)
    config = load_config(request, load_sweep(sweep))
    gate = gate_file(request, config)
    bundle = Bundle(config.model_dump(mode="json"), gate.read_text() if gate else None, pack(Path(config.suite.path)))
    connect(address)
    kept, first = submit(config.results, bundle, {"concurrency": concurrency, "wave": wave, "wait": wait})
    for notice in kept.notices:
        print(f"note: {notice}")
    print(f"submitted {kept.sweep_id}; its controller is process {first.process} on {first.node}")
    print(f"passhat attach {kept.sweep_id} --address {address}    shows it; passhat cancel ... stops it")
    if stay:
        raise typer.Exit(_watch(kept.sweep_id, as_json=False))


def attach_command(
    sweep: Which = None,
    address: Address = "auto",
    as_json: Annotated[bool, typer.Option("--json", help="Messages as JSON lines instead of a display.")] = False,
) -> None:
    """Show a submitted sweep until it ends; the exit code is the sweep's. Ctrl-C leaves it running.

    Example: passhat attach --address auto
    """
    from orchestrator.execution.ray_connection import connect

    connect(address)
    raise typer.Exit(_watch(sweep, as_json))


def cancel_command(
    sweep: Which = None,
    address: Address = "auto",
    at_once: Annotated[bool, typer.Option("--now", help="Cancel running trials instead of letting them end.")] = False,
) -> None:
    """Stop a submitted sweep; what was recorded is kept, and `passhat submit` goes on where it stopped.

    Example: passhat cancel --address auto
    """
    import ray

    from orchestrator.execution.ray_connection import connect
    from orchestrator.execution.ray_controller import find_controller

    connect(address)
    sweep_id, actor = find_controller(sweep)
    ray.get(actor.stop.remote(at_once), timeout=60)
    what = "what runs is cancelled" if at_once else "running trials end, nothing new starts"
    print(f"{sweep_id}: stopping: {what}")


def _watch(sweep: str | None, as_json: bool) -> int:
    from orchestrator.cli.display import choose_display
    from orchestrator.execution.ray_controller import ask_snapshot, find_controller

    sweep_id, _ = find_controller(sweep)
    display, told, away = choose_display(as_json), 0, False
    last = None
    try:
        while last is None or not last.over:
            seen = ask_snapshot(sweep_id)
            if seen is None:
                if not away:
                    display.hear("away", {"message": "the controller does not answer; it is being started again"})
                away = True
                time.sleep(LOOK_S)
                continue
            if away or (last is not None and seen.process != last.process):
                told, away = 0, False
                display.hear("back", {"message": f"the controller is process {seen.process} on {seen.node} now"})
            last, display.progress = seen, seen.progress
            for number, text in seen.messages:
                if number > told:
                    display.hear("message", {"message": text})
                    told = number
            display.hear("progress", {})
            if not last.over:
                time.sleep(LOOK_S)
    except KeyboardInterrupt:
        print(f"left; sweep {sweep_id} goes on: `passhat attach {sweep_id}` shows it again")
        return 130
    finally:
        display.close()
    print(f"{sweep_id}: {last.state}" + (f", exit code {last.code}" if last.code is not None else ""))
    return last.code if last.code is not None else 1
