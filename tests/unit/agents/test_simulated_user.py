"""The simulated user: what a task may say about it, and how a scripted one talks and stops."""

import pytest

from orchestrator.agents.simulated_user import ScriptedUser, UserSpecError, parse_user

PLAIN = {
    "goal": "a refund",
    "opening": "Hi",
    "persona": "",
    "known": {"order": "7"},
    "max_turns": 3,
    "stop": "###DONE###",
}
SCRIPT = [{"pattern": "(?i)order", "reply": "Order 7."}, {"pattern": "thanks", "reply": "Bye ###DONE###"}]


def test_the_first_pattern_found_answers_and_none_ends_it() -> None:
    user = ScriptedUser(parse_user({**PLAIN, "script": SCRIPT, "max_turns": 12}))
    assert user.opening == "Hi"
    assert user.answer("Which ORDER?", None).text == "Order 7."
    assert user.answer("Thanks!", None).text is None
    assert user.answer("Anything else?", None).text is None
    assert user.usage() is None


def test_its_turns_are_limited() -> None:
    user = ScriptedUser(parse_user({**PLAIN, "script": SCRIPT}))
    said = [user.answer("order?", None) for _ in range(3)]
    assert [s.text for s in said] == ["Order 7.", "Order 7.", None]
    assert "3 turns" in said[-1].why


@pytest.mark.parametrize(
    ("change", "key"),
    [
        ({"goal": None}, "goal"),
        ({"extra": 1}, "extra"),
        ({"script": [{"pattern": "(", "reply": "x"}]}, "script.0.pattern"),
        ({"script": [{"pattern": "x"}]}, "script.0.reply"),
        ({"max_turns": 0}, "max_turns"),
    ],
)
def test_what_cannot_be_played_is_named(change: dict[str, object], key: str) -> None:
    with pytest.raises(UserSpecError, match=key):
        parse_user({**PLAIN, **change})
