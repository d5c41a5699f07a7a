"""What a step of a multi-step task brings into the container before its agent runs."""

from pathlib import Path

from sandboxes.base import Command, FileEntry, Sandbox, SandboxError
from suites.task import Step

SETUP_SCRIPT_S = 300.0


def folder_entries(folder: Path, destination: str) -> list[FileEntry]:
    """The regular files and folders below `folder`, as entries below `destination`; modes are kept."""
    entries = []
    for path in sorted(folder.rglob("*")):
        target = f"{destination.rstrip('/')}/{path.relative_to(folder).as_posix()}"
        mode = path.stat().st_mode & 0o777
        if path.is_dir():
            entries.append(FileEntry(target, mode=mode))
        elif path.is_file():
            entries.append(FileEntry(target, path.read_bytes(), mode=mode))
    return entries


def copy_workdir(sandbox: Sandbox, step: Step, workdir: str | None) -> None:
    """Copy a step's workdir/ and run its setup.sh, if it ships one. Raises SandboxError when that fails."""
    assert step.workdir_dir is not None
    target = workdir or sandbox.exec(Command(("pwd",))).stdout.text().strip() or "/"
    sandbox.put(folder_entries(step.workdir_dir, target))
    if (step.workdir_dir / "setup.sh").is_file():
        script = f"{target.rstrip('/')}/setup.sh"
        result = sandbox.exec(Command(("bash", script), workdir=target, user="root", timeout_s=SETUP_SCRIPT_S))
        if result.exit_code != 0:
            raise SandboxError(
                f"step {step.name}: setup.sh ended with {result.exit_code}: {result.stderr.text()[-200:]}"
            )
