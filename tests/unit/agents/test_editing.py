"""The editor's commands on text, and the room a conversation can make."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.agents.claude_tools import bounded
from orchestrator.agents.conversation import DROPPED, Conversation, fixed_part, result_block
from orchestrator.agents.editing import EditError, insert_after, numbered, replace_once
from orchestrator.models.reply import Reply
from orchestrator.models.tokens import Tokens


def test_only_a_unique_place_is_replaced() -> None:
    assert replace_once("a b c", "b", "x") == "a x c"
    with pytest.raises(EditError, match="not found"):
        replace_once("a", "b", "x")
    with pytest.raises(EditError, match=r"2 times, at lines \[1, 3\]"):
        replace_once("b\na\nb", "b", "x")
    with pytest.raises(EditError, match="empty"):
        replace_once("a", "", "x")


@pytest.mark.parametrize(("line", "expected"), [(0, "x\na\nb"), (1, "a\nx\nb"), (2, "a\nb\nx")])
def test_lines_are_inserted_after(line: int, expected: str) -> None:
    assert insert_after("a\nb", line, "x") == expected
    with pytest.raises(EditError):
        insert_after("a\nb", 3, "x")


def test_lines_are_numbered_and_ranges_checked() -> None:
    assert numbered("a\nb\nc", [2, -1]) == "     2\tb\n     3\tc"
    for wrong in ([0, 1], [3, 2], [9, 10], [1], ["1", "2"], "12"):
        with pytest.raises(EditError):
            numbered("a\nb\nc", wrong)


@given(st.binary(max_size=300), st.integers(2, 100))
def test_bounded_output_keeps_head_and_tail_and_counts_the_rest(data: bytes, limit: int) -> None:
    kept = bounded(data, limit)
    assert len(kept.head) + len(kept.tail) == min(len(data), limit)
    assert len(kept.head) + len(kept.tail) + kept.dropped_bytes == len(data)
    assert data.startswith(kept.head)
    assert data.endswith(kept.tail)


def talk(turns: int) -> Conversation:
    conversation = Conversation("go")
    for n in range(turns):
        blocks = ({"type": "tool_use", "id": f"c{n}", "name": "bash", "input": {}},)
        conversation.add_reply(Reply(blocks, "tool_use", Tokens()))
        conversation.add_user([result_block(f"c{n}", f"result {n}", is_error=False)])
    return conversation


def test_room_is_made_from_the_oldest_results_and_the_newest_stays() -> None:
    conversation = talk(5)
    assert conversation.drop_results() == 2
    contents = [m["content"][0]["content"] for m in conversation.messages(False)[2::2]]
    assert contents == [DROPPED, DROPPED, "result 2", "result 3", "result 4"]
    while conversation.drop_results():
        pass
    assert conversation.messages(False)[-1]["content"][0]["content"] == "result 4"
    assert conversation.dropped_results == 4


@given(st.integers(0, 8))
def test_never_more_than_four_breakpoints_and_none_stays_behind(turns: int) -> None:
    conversation = talk(turns)
    sent = str(fixed_part("s", [{"name": "t"}], True)) + str(conversation.messages(True))
    assert sent.count("cache_control") <= 4
    assert "cache_control" not in str(conversation.messages(False))


def test_the_fixed_part_is_marked_where_it_ends() -> None:
    assert "cache_control" in fixed_part("s", [{"name": "t"}], True)["system"][0]
    assert "cache_control" in fixed_part(None, [{"name": "t"}], True)["tools"][0]
    assert "cache_control" not in str(fixed_part("s", [{"name": "t"}], False))
