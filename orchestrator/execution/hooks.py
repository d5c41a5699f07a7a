"""Tells others what happened: a command gets the JSON body on its standard input, a webhook as a POST."""

import json
import subprocess
import urllib.request
from collections.abc import Callable, Mapping
from http.client import HTTPException

from orchestrator.config import HookSetting

TIMEOUT_S = 30.0


def tell_hooks(
    hooks: HookSetting,
    event: str,
    body: Mapping[str, object],
    complain: Callable[[str, Mapping[str, object]], None],
) -> None:
    """Send {"event": ..., ...}; a hook that fails is complained about and changes nothing else."""
    data = json.dumps({"event": event, **body}, default=str).encode()
    if hooks.command:
        try:
            subprocess.run(hooks.command, input=data, timeout=TIMEOUT_S, check=True, capture_output=True)
        except (OSError, subprocess.SubprocessError) as error:
            complain("hook_failed", {"message": f"the hook command {hooks.command[0]} failed: {error}"})
    if hooks.webhook is not None:
        try:
            request = urllib.request.Request(hooks.webhook, data, {"content-type": "application/json"})
            with urllib.request.urlopen(request, timeout=TIMEOUT_S):
                pass
        except (OSError, HTTPException, ValueError) as error:
            complain("hook_failed", {"message": f"the webhook {hooks.webhook} failed: {error}"})
