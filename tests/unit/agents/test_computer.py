"""The computer tool's actions become words of xdotool, and what cannot be done gets a sentence."""

import pytest

from orchestrator.agents.claude_request import request_settings
from orchestrator.agents.computer import BETA, xdotool_words
from orchestrator.agents.editing import EditError
from orchestrator.agents.settings import ClaudeSettings


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"action": "screenshot"}, ""),
        ({"action": "cursor_position"}, "getmouselocation"),
        ({"action": "mouse_move", "coordinate": [3, 4]}, "mousemove 3 4"),
        ({"action": "left_click", "coordinate": [3, 4]}, "mousemove 3 4 click 1"),
        ({"action": "right_click"}, "click 3"),
        ({"action": "left_click", "coordinate": [0, 0], "text": "shift"}, "mousemove 0 0 keydown shift click 1 keyup shift"),
        ({"action": "double_click"}, "click --repeat 2 --delay 80 1"),
        (
            {"action": "left_click_drag", "start_coordinate": [1, 2], "coordinate": [3, 4]},
            "mousemove 1 2 mousedown 1 mousemove 3 4 sleep 0.1 mouseup 1",
        ),
        (
            {"action": "scroll", "coordinate": [5, 6], "scroll_direction": "down", "scroll_amount": 3},
            "mousemove 5 6 click --repeat 3 --delay 20 5",
        ),
        ({"action": "key", "text": "ctrl+s"}, "key -- ctrl+s"),
        ({"action": "type", "text": "--help; rm"}, "type --delay 20 -- --help; rm"),
        ({"action": "hold_key", "text": "a", "duration": 1.5}, "keydown a sleep 1.5 keyup a"),
        ({"action": "wait", "duration": 2}, "sleep 2"),
    ],
)  # fmt: skip
def test_an_action_is_words_of_xdotool(given: dict[str, object], words: str) -> None:
    assert " ".join(xdotool_words(given, 1024, 768)) == words


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "action"),
        ({"action": "fly"}, "not known"),
        ({"action": "left_click", "coordinate": [1024, 0]}, "outside of the display of 1024 x 768"),
        ({"action": "left_click", "coordinate": [-1, 0]}, "outside"),
        ({"action": "mouse_move"}, "two whole numbers"),
        ({"action": "mouse_move", "coordinate": [1.5, True]}, "two whole numbers"),
        ({"action": "key", "text": "a click 1"}, "names no keys"),
        ({"action": "wait", "duration": 1e9}, "from 0 to 30"),
        ({"action": "scroll", "scroll_direction": "in", "scroll_amount": 1}, "up, down, left, right"),
    ],
)
def test_what_cannot_be_done_gets_a_sentence(given: dict[str, object], said: str) -> None:
    with pytest.raises(EditError, match=said):
        xdotool_words(given, 1024, 768)


def test_the_api_is_told_of_the_display_and_of_the_beta() -> None:
    plain = ClaudeSettings(kind="claude", name="c", model="m")
    sees = ClaudeSettings(kind="claude", name="c", model="m", tools=("computer",), display=(800, 600))
    request = request_settings(sees, "s")
    assert request["extra_headers"] == {"anthropic-beta": BETA}
    (tool,) = request["tools"]  # type: ignore[misc]
    assert (tool["type"], tool["display_width_px"], tool["display_height_px"]) == ("computer_20250124", 800, 600)
    assert "extra_headers" not in request_settings(plain, "s")
