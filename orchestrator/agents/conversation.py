"""The messages of one conversation as the API wants them: cache breakpoints, and room when it runs full. Pure."""

from collections.abc import Mapping, Sequence

from orchestrator.models.reply import Reply

DROPPED = "[this result was removed to make room in the context]"
CACHE = {"type": "ephemeral"}
Block = dict[str, object]
Message = dict[str, object]


class Conversation:
    """Grows by turns. What is sent carries cache breakpoints on the fixed part and the two newest user
    messages, so that each request reads what the one before has written."""

    def __init__(self, first: str) -> None:
        self._messages: list[Message] = [user_message(text_block(first))]
        self.dropped_results = 0

    def add_reply(self, reply: Reply) -> None:
        """Blocks go back as they came, thinking and its signature included."""
        self._messages.append({"role": "assistant", "content": [dict(block) for block in reply.blocks]})

    def add_user(self, blocks: Sequence[Block]) -> None:
        self._messages.append(user_message(*blocks))

    def messages(self, caching: bool) -> list[Message]:
        """The messages to send."""
        if not caching:
            return list(self._messages)
        users = [index for index, m in enumerate(self._messages) if m["role"] == "user"][-2:]
        return [_marked(m) if index in users else m for index, m in enumerate(self._messages)]

    def drop_results(self, share: float = 0.5) -> int:
        """Replace the oldest `share` of the tool results that are still whole; the newest message's stay.

        Returns how many were replaced; 0 means that there is no room to win here.
        """
        whole = [b for m in self._messages[:-1] for b in _results(m) if b.get("content") != DROPPED]
        chosen = whole[: max(int(len(whole) * share), 1)] if whole else []
        for block in chosen:
            block["content"] = DROPPED
        self.dropped_results += len(chosen)
        return len(chosen)


def text_block(text: str) -> Block:
    return {"type": "text", "text": text}


def result_block(call_id: str, content: str, is_error: bool, image: str = "") -> Block:
    """A tool's result; an empty one would be refused. `image`: a PNG in base64, shown beside the words."""
    text = content or "[no output]"
    block: Block = {"type": "tool_result", "tool_use_id": call_id, "content": text}
    if image:
        source = {"type": "base64", "media_type": "image/png", "data": image}
        block["content"] = [text_block(text), {"type": "image", "source": source}]
    return block | ({"is_error": True} if is_error else {})


def user_message(*blocks: Block) -> Message:
    return {"role": "user", "content": list(blocks)}


def fixed_part(system: str | None, tools: Sequence[Mapping[str, object]], caching: bool) -> dict[str, object]:
    """System prompt and tools, with the breakpoint after the last of them (the API reads tools first)."""
    fixed: dict[str, object] = {}
    listed = [dict(tool) for tool in tools]
    if system:
        fixed["system"] = [text_block(system) | ({"cache_control": CACHE} if caching else {})]
    elif caching and listed:
        listed[-1]["cache_control"] = CACHE
    if listed:
        fixed["tools"] = listed
    return fixed


def _marked(message: Message) -> Message:
    content = message["content"]
    assert isinstance(content, list)
    return {**message, "content": [*content[:-1], {**content[-1], "cache_control": CACHE}]}


def _results(message: Message) -> list[Block]:
    content = message["content"]
    assert isinstance(content, list)
    return [block for block in content if block.get("type") == "tool_result"]
