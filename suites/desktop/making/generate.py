"""Writes the task folders of this suite: python suites/desktop/making/generate.py"""

import json
import shutil
from pathlib import Path

HERE = Path(__file__).resolve().parent
DOCKERFILE = """ARG BASE=python:3.11-slim-bookworm
FROM ${BASE}
# The one suite whose image needs a network to be built: its programs are Debian's.
RUN apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends \\
        openbox python3-tk scrot wmctrl x11-utils xdotool xvfb \\
    && rm -rf /var/lib/apt/lists/*
COPY apps.py start /desktop/
RUN chmod 755 /desktop/start
ENV DISPLAY=:1
WORKDIR /desktop
"""
START = """#!/bin/bash
# Starts display, window manager and program, each again where it ended; exits 0 when the program's window is there.
# The window manager says itself when it is ready: it drops windows that come while it starts. A program without a
# window after some ten seconds is started again.
export DISPLAY=:1
run() {{ setsid nohup "$@" < /dev/null >> /tmp/start.log 2>&1 & }}
waited=0
for _ in $(seq 250); do
    if ! pgrep -x Xvfb > /dev/null; then
        rm -f /tmp/.X1-lock /tmp/.X11-unix/X1 /tmp/openbox-ready
        run Xvfb :1 -screen 0 1024x768x24 -nolisten tcp -noreset
    elif ! xdpyinfo > /dev/null 2>&1; then
        :
    elif ! pgrep -x openbox > /dev/null; then
        rm -f /tmp/openbox-ready
        run openbox --startup "touch /tmp/openbox-ready"
    elif ! [ -e /tmp/openbox-ready ]; then
        :
    elif ! pgrep -f apps.py > /dev/null; then
        waited=0
        run /usr/bin/python3 /desktop/apps.py {app}
    elif wmctrl -l 2> /dev/null | grep -q '{title}'; then
        exit 0
    elif [ $((waited += 1)) -ge 80 ]; then
        pkill -f apps.py
    fi
    sleep 0.1
done
cat /tmp/start.log
exit 1
"""
INSTRUCTION = """{text}

The desktop is the X display `:1` (1024x768) of this container, with a window manager. Look at it with
`scrot FILE.png`, `wmctrl -lG` or `xwininfo -root -tree`; act on it with `xdotool` (mouse and keys). Screenshots that are to
be kept go to `/logs/artifacts`. Only what the program itself has saved counts.
"""
SOLVE = """#!/bin/bash
# Drives the program by mouse and keyboard; `at X Y` clicks at a place inside the window.
set -e
export DISPLAY=:1
pick() {{ WINDOW=$(xdotool search --onlyvisible --name "^$1\\$" | tail -n 1); xdotool windowactivate --sync "$WINDOW"; }}
at() {{ xdotool mousemove --window "$WINDOW" "$1" "$2" sleep 0.1 click 1 sleep 0.2; }}
keys() {{ xdotool type --delay 20 -- "$1"; sleep 0.2; }}
{steps}
for _ in $(seq 50); do [ -e /desktop/state/{file} ] && break; sleep 0.1; done
mkdir -p /logs/artifacts && scrot --overwrite /logs/artifacts/end.png
"""
TEST = """#!/bin/bash
if cmp -s /tests/goal.txt "/desktop/state/{file}" && [ "$(ls /desktop/state | wc -l)" = 1 ]; then echo 1; else echo 0; fi > /logs/verifier/reward.txt
"""
TASKS = [
    (
        "settings",
        "settings",
        "Settings",
        "In the window Settings, turn the dark theme on and the sound off, choose Suomi as the language, and save.",
        "settings.txt",
        "dark=True\nsound=False\nlanguage=Suomi\n",
        ["pick Settings", "at 90 35", "at 90 75", "at 60 174", "at 290 208"],
    ),
    (
        "note",
        "notes",
        "Notes",
        "In the window Notes, write the two lines `Bring the keys.` and `Leave at 7:45.` and save them as `journey`.",
        "journey.txt",
        "Bring the keys.\nLeave at 7:45.\n",
        ["pick Notes", "at 100 100", "keys 'Bring the keys.'", "xdotool key Return", "keys 'Leave at 7:45.'",
         "at 150 295", "keys journey", "at 395 295"],
    ),
    (
        "todo",
        "todo",
        "Todo",
        "In the window Todo, tick what is about a call and about a train, untick the rent, and apply.",
        "todo.txt",
        "Water the plants: open\nPay the rent: open\nCall Mia: done\nBuy stamps: open\nBook the train: done\n",
        ["pick Todo", "at 60 76", "at 60 116", "at 60 196", "at 250 268"],
    ),
    (
        "calculator",
        "calculator",
        "Calculator",
        "With the buttons of the calculator, work out 47 times 86 and store the result.",
        "calculator.txt",
        "4042\n",
        ["pick Calculator", "at 45 132", "at 45 82", "at 45 232", "at 120 82", "at 195 132", "at 60 287", "at 175 287"],
    ),
    (
        "order-form",
        "order",
        "Order",
        "Fill in the form of the window Order for Nora Falk, 3 Elm Court, Westbay, amount 4, and order.",
        "order.txt",
        "Name=Nora Falk\nStreet=3 Elm Court\nTown=Westbay\nAmount=4\n",
        ["pick Order", "at 200 35", "keys 'Nora Falk'", "at 200 80", "keys '3 Elm Court'", "at 200 125", "keys Westbay",
         "at 140 170", "xdotool key End BackSpace", "keys 4", "at 325 225"],
    ),
    (
        "close-window",
        "windows",
        "Advert",
        "Three windows are open. Close the one named Advert and no other.",
        "windows.txt",
        "Mail\nWeather\n",
        ["pick Advert", "xdotool key alt+F4"],
    ),
]  # fmt: skip


def main(target=HERE.parent):
    for name, app, title, text, file, goal, steps in TASKS:
        folder = target / name
        shutil.rmtree(folder, ignore_errors=True)
        files = {
            "instruction.md": INSTRUCTION.format(text=text),
            "task.toml": toml(name),
            "environment/Dockerfile": DOCKERFILE,
            "environment/apps.py": (HERE / "apps.py").read_text(encoding="utf-8"),
            "environment/start": START.format(app=app, title=title),
            "tests/test.sh": TEST.format(file=file),
            "tests/goal.txt": goal,
            "tests/goal.json": json.dumps({"files": {file: {"text": goal}}, "exact": True}) + "\n",
            "solution/solve.sh": SOLVE.format(steps="\n".join(steps), file=file),
        }
        for path, content in files.items():
            place = folder / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(content, encoding="utf-8")
            if path.endswith((".sh", "start")):
                place.chmod(0o755)


def toml(name):
    return f'''schema_version = "1.4"
artifacts = ["/logs/artifacts"]

[task]
name = "{name}"

[metadata]
difficulty = "easy"
category = "desktop"
display = ":1"

[agent]
timeout_sec = 600.0

[verifier]
timeout_sec = 60.0

[environment]
build_timeout_sec = 1200.0
cpus = 1
memory_mb = 1024
network_mode = "no-network"
workdir = "/desktop"

[environment.env]
DISPLAY = ":1"

[environment.healthcheck]
command = "/desktop/start"
timeout_sec = 60.0
retries = 2

[passhat]
cluster = "{name}"

[[passhat.graders]]
kind = "state"
folder = "/desktop/state"
goal = "goal.json"
'''


if __name__ == "__main__":
    main()
