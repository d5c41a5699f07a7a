"""`passhat`: registers the commands, and turns errors that people cause into one sentence and an exit code.

Exit codes: 0 all planned trials have a verdict and every gate holds; 1 some trials are without a verdict, a
gate fails, or a number that was asked for cannot be given; 2 bad usage or configuration; 130 interrupted,
resumable.
"""

import os
import sys

import typer

from orchestrator.cli import (
    aggregate,
    compact,
    compare,
    gate,
    images,
    importing,
    init,
    judge,
    model,
    noise,
    plan,
    power,
    reap,
    report,
    run,
    schedule,
    show,
    status,
    submit,
    suite,
    summary,
    transcript,
)

OURS = ("orchestrator.", "suites.", "sandboxes.")

app = typer.Typer(
    name="passhat",
    help=__doc__ and "Measure agents honestly: run every task many times, keep every attempt, say how sure you are.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    epilog="Example: passhat run sweep.toml, then passhat summary results, then passhat report results.",
)

app.command("run")(run.command)
app.command("submit")(submit.submit_command)
app.command("attach")(submit.attach_command)
app.command("cancel")(submit.cancel_command)
app.command("plan")(plan.command)
app.command("status")(status.command)
app.command("show")(show.command)
app.command("summary")(summary.command)
app.command("aggregate")(aggregate.command)
app.command("report")(report.command)
app.command("compare")(compare.command)
app.command("power")(power.command)
app.command("noise")(noise.command)
app.command("gate")(gate.command)
app.command("schedule")(schedule.command)
app.add_typer(suite.app, name="suite")
app.add_typer(images.app, name="images")
app.command("import")(importing.command)
app.add_typer(judge.app, name="judge")
app.command("transcript")(transcript.command)
app.command("grep")(transcript.grep_command)
app.add_typer(model.app, name="model")
app.command("reap")(reap.command)
app.command("compact")(compact.command)
app.command("init")(init.command)
app.command("schema")(init.schema_command)


def main() -> None:
    """The console script. An error a person can act on is one sentence on stderr and exit code 2."""
    try:
        app()
    except KeyboardInterrupt:
        print("interrupted; run the same command again to go on", file=sys.stderr)
        raise SystemExit(130) from None
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(1) from None
    except Exception as error:
        if os.environ.get("PASSHAT_TRACEBACK") or not _is_for_people(error):
            raise
        print(f"passhat: {error}", file=sys.stderr)
        raise SystemExit(2) from None


def _is_for_people(error: Exception) -> bool:
    return type(error).__module__.startswith(OURS) or isinstance(error, OSError)
