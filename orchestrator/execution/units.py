"""Texts of units that call `passhat run` every few minutes. Pure: a sweep decides itself what is due."""

import sys
from pathlib import Path
from shlex import quote

EVERY_MINUTES = 5


def _command(sweep: Path) -> str:
    return f"{quote(sys.executable)} -m orchestrator.cli run {quote(str(sweep))}"


def cron_line(sweep: Path) -> str:
    """A crontab line; output goes to a file beside the sweep."""
    log = quote(str(sweep.with_suffix(".log")))
    return f"*/{EVERY_MINUTES} * * * * cd {quote(str(sweep.parent))} && {_command(sweep)} >> {log} 2>&1"


def systemd_units(name: str, sweep: Path) -> str:
    """A service and its timer, as two files named in comments."""
    return f"""# /etc/systemd/system/passhat-{name}.service
[Unit]
Description=passhat sweep {name}
After=docker.service network-online.target
Wants=network-online.target

[Service]
Type=oneshot
WorkingDirectory={sweep.parent}
ExecStart={_command(sweep)}
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


def kubernetes_cronjob(name: str, sweep: Path) -> str:
    """A CronJob that joins the Ray cluster of deploy/; the sweep file comes from a config map."""
    return f"""apiVersion: batch/v1
kind: CronJob
metadata:
  name: passhat-{name.lower().replace("_", "-").replace(".", "-")}
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
              args: ["run", "/sweep/{sweep.name}", "--address", "auto"]
              env:
                - {{name: RAY_AUTH_MODE, value: token}}
                - {{name: RAY_ADDRESS, value: "passhat-head-svc:6379"}}
                - name: RAY_AUTH_TOKEN
                  valueFrom: {{secretKeyRef: {{name: passhat-ray-token, key: token}}}}
              volumeMounts:
                - {{name: sweep, mountPath: /sweep}}
                - {{name: results, mountPath: /results}}
          volumes:
            - name: sweep
              configMap: {{name: passhat-{name.lower()}}}
            - name: results
              persistentVolumeClaim: {{claimName: passhat-results}}"""
