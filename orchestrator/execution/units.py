"""Texts of units that call `passhat run` every few minutes. Pure: a sweep decides itself what is due."""

import re
import sys
from pathlib import Path
from shlex import join, quote

EVERY_MINUTES = 5


def _command(sweep: Path) -> tuple[str, ...]:
    return (sys.executable, "-m", "orchestrator.cli", "run", str(sweep))


def cron_line(sweep: Path) -> str:
    """A crontab line; output goes to a file beside the sweep."""
    log = quote(str(sweep.with_suffix(".log")))
    command = f"cd {quote(str(sweep.parent))} && {join(_command(sweep))} >> {log} 2>&1"
    return f"*/{EVERY_MINUTES} * * * * " + command.replace("%", "\\%")


def systemd_units(name: str, sweep: Path) -> str:
    """A service and its timer, as two files named in comments."""
    folder = str(sweep.parent).replace("%", "%%")
    command = " ".join(map(_systemd_word, _command(sweep)))
    return f"""# /etc/systemd/system/passhat-{name}.service
[Unit]
Description=passhat sweep {name}
After=docker.service network-online.target
Wants=network-online.target

[Service]
Type=oneshot
WorkingDirectory={folder}
ExecStart={command}
SuccessExitStatus=1
KillSignal=SIGINT
TimeoutStopSec=infinity

# /etc/systemd/system/passhat-{name}.timer
[Unit]
Description=calls passhat sweep {name}; what is due is decided there

[Timer]
OnCalendar=*:0/{EVERY_MINUTES}
Persistent=true

[Install]
WantedBy=timers.target"""


def _systemd_word(word: str) -> str:
    for plain, escaped in (("\\", "\\\\"), ('"', '\\"'), ("%", "%%"), ("$", "$$")):
        word = word.replace(plain, escaped)
    return f'"{word}"'


def _kubernetes_name(name: str) -> str:
    """A name that Kubernetes takes: small letters, digits and dashes; a CronJob's has 52 characters at most."""
    return ("passhat-" + re.sub("[^a-z0-9-]+", "-", name.lower()))[:52].strip("-")


def kubernetes_cronjob(name: str, sweep: Path) -> str:
    """A CronJob that joins the Ray cluster of deploy/; the sweep file comes from a config map of its name."""
    name = _kubernetes_name(name)
    return f"""apiVersion: batch/v1
kind: CronJob
metadata:
  name: {name}
spec:
  schedule: "*/{EVERY_MINUTES} * * * *"
  concurrencyPolicy: Forbid
  startingDeadlineSeconds: 300
  jobTemplate:
    spec:
      backoffLimit: 0
      template:
        spec:
          restartPolicy: Never
          containers:
            - name: passhat
              image: passhat:latest
              args: ["run", "/sweep/{sweep.name}", "--address", "ray://passhat-head-svc:10001"]
              env:
                - {{name: RAY_AUTH_MODE, value: token}}
                - name: RAY_AUTH_TOKEN
                  valueFrom: {{secretKeyRef: {{name: passhat, key: auth_token}}}}
              volumeMounts:
                - {{name: sweep, mountPath: /sweep}}
                - {{name: results, mountPath: /results}}
          volumes:
            - name: sweep
              configMap: {{name: {name}}}
            - name: results
              persistentVolumeClaim: {{claimName: passhat-results}}"""
