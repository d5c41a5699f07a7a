"""What a call of the API's computer tool does to the display of a sandbox: words of xdotool. Pure.

Every action ends with a screenshot, kept under /logs/artifacts of the sandbox and shown to the model. The
display is the one that the task's environment names in DISPLAY.
"""

import re
from collections.abc import Mapping

from orchestrator.agents.editing import EditError, wanted_text

COMPUTER = "computer"
BETA = "computer-use-2025-01-24"
"""The value of the header anthropic-beta without which the API refuses the tool."""
SCREENS = "/logs/artifacts"
MAX_IMAGE_BYTES = 3_000_000
MAX_WAIT_S = 30.0
LOOK = (
    'screen=$1; shift; if [ $# -gt 0 ]; then xdotool "$@" >&2 || exit; sleep 0.3; fi; '
    'mkdir -p -- "$(dirname -- "$screen")" && scrot --overwrite "$screen" >&2 && cat -- "$screen"'
)
"""bash -c LOOK name SCREEN [xdotool's words ..]: acts, waits for the windows, and writes the PNG to stdout."""
_CLICKS = {
    "left_click": ("click", "1"),
    "middle_click": ("click", "2"),
    "right_click": ("click", "3"),
    "double_click": ("click", "--repeat", "2", "--delay", "80", "1"),
    "triple_click": ("click", "--repeat", "3", "--delay", "80", "1"),
    "left_mouse_down": ("mousedown", "1"),
    "left_mouse_up": ("mouseup", "1"),
}
_WHEEL = {"up": "4", "down": "5", "left": "6", "right": "7"}
_KEYS = re.compile(r"[A-Za-z0-9_]+(\+[A-Za-z0-9_]+)*")


def definition(width: int, height: int) -> dict[str, object]:
    """The tool as the API wants it declared, for a display of so many pixels."""
    return {
        "type": "computer_20250124", "name": COMPUTER, "display_width_px": width, "display_height_px": height,
    }  # fmt: skip


def xdotool_words(given: Mapping[str, object], width: int, height: int) -> tuple[str, ...]:
    """The words for one action; none for a screenshot alone. Raises EditError for what cannot be done."""
    action = wanted_text(given, "action")

    def place(key: str = "coordinate") -> tuple[str, ...]:
        return ("mousemove", *_pixels(given.get(key), key, width, height))

    if action == "screenshot":
        return ()
    if action == "cursor_position":
        return ("getmouselocation",)
    if action == "mouse_move":
        return place()
    if action in _CLICKS:
        there = place() if given.get("coordinate") is not None else ()
        return (*there, *_held(given.get("text"), _CLICKS[action]))
    if action == "left_click_drag":
        return (*place("start_coordinate"), "mousedown", "1", *place(), "sleep", "0.1", "mouseup", "1")
    if action == "scroll":
        there = place() if given.get("coordinate") is not None else ()
        wheel = _WHEEL.get(str(given.get("scroll_direction")))
        if wheel is None:
            raise EditError(f"scroll_direction {given.get('scroll_direction')!r} is not one of {', '.join(_WHEEL)}")
        times = str(int(_number(given, "scroll_amount", 100)) or 1)
        return (*there, *_held(given.get("text"), ("click", "--repeat", times, "--delay", "20", wheel)))
    if action == "key":
        return ("key", "--", _keys(wanted_text(given, "text")))
    if action == "type":
        return ("type", "--delay", "20", "--", wanted_text(given, "text"))
    if action == "hold_key":
        keys = _keys(wanted_text(given, "text"))
        return ("keydown", keys, "sleep", f"{_number(given, 'duration', MAX_WAIT_S):g}", "keyup", keys)
    if action == "wait":
        return ("sleep", f"{_number(given, 'duration', MAX_WAIT_S):g}")
    raise EditError(f"the action {action!r} is not known to this display")


def _held(keys: object, words: tuple[str, ...]) -> tuple[str, ...]:
    if keys in (None, ""):
        return words
    held = _keys(str(keys))
    return ("keydown", held, *words, "keyup", held)


def _keys(text: str) -> str:
    if not _KEYS.fullmatch(text):
        raise EditError(f"{text!r} names no keys: write them as X does, joined by +, such as ctrl+s or Return")
    return text


def _pixels(value: object, key: str, width: int, height: int) -> tuple[str, str]:
    if not isinstance(value, list) or len(value) != 2 or not all(type(part) is int for part in value):
        raise EditError(f"{key} is {value!r}, but must be two whole numbers [x, y]")
    x, y = value
    if not (0 <= x < width and 0 <= y < height):
        raise EditError(f"{key} {value} is outside of the display of {width} x {height} pixels")
    return str(x), str(y)


def _number(given: Mapping[str, object], key: str, most: float) -> float:
    value = given.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= most:
        raise EditError(f"{key} is {value!r}, but must be a number from 0 to {most:g}")
    return float(value)
