"""A customer with a goal, played by a model or by a script, opposite the agent.

It has its own prompt version, costs and transcript lines (role "user", name "simulated_user"). It sees what
the agent says to it and nothing else: no tools, no sandbox.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from orchestrator.agents.conversation import Conversation, text_block
from orchestrator.models.client import ModelClient
from orchestrator.models.usage import ModelUsage

PROMPT_VERSION = "user-1"
_PROMPT = """You play a customer who talks to a service agent. You are not the agent and never help it.
Who you are: {persona}
What you want: {goal}
What you know, and tell only when asked for it:
{known}
Write what the customer says next and nothing else, in one to three sentences. Do not invent facts that are
not given here; say that you do not know. When what you want is done, or the agent has made clear that it
cannot be done, write {stop} and nothing else."""


class Line(BaseModel):
    """What a scripted user replies to an agent whose words hold `pattern`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    pattern: str
    reply: str

    @field_validator("pattern")
    @classmethod
    def _compiles(cls, value: str) -> str:
        try:
            re.compile(value)
        except re.error as error:
            raise ValueError(f"not a regular expression: {error}") from None
        return value


class UserSpec(BaseModel):
    """What a task says about its simulated user."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    goal: str
    opening: str
    persona: str = "a customer"
    known: dict[str, str] = {}
    script: tuple[Line, ...] = ()
    max_turns: int = Field(default=12, ge=1)
    stop: str = "###DONE###"


class UserSpecError(ValueError):
    """A simulated user that cannot be played."""


@dataclass(frozen=True, slots=True)
class Said:
    """What the user says next; None when it has ended the conversation."""

    text: str | None
    why: str = ""


class SimulatedUser(Protocol):
    @property
    def opening(self) -> str: ...

    @property
    def version(self) -> str: ...

    def answer(self, agent_says: str, deadline_s: float | None) -> Said:
        """Raises ModelFailureError."""
        ...

    def usage(self) -> ModelUsage | None: ...


class ScriptedUser:
    """Answers with the reply of the first pattern found in the agent's words; no pattern: it has ended."""

    version = "scripted"

    def __init__(self, spec: UserSpec) -> None:
        self._spec, self._turns = spec, 0
        self.opening = spec.opening

    def answer(self, agent_says: str, deadline_s: float | None) -> Said:
        self._turns += 1
        if self._turns >= self._spec.max_turns:
            return Said(None, f"the user's {self._spec.max_turns} turns are used up")
        for line in self._spec.script:
            if re.search(line.pattern, agent_says, re.IGNORECASE):
                return _said(line.reply, self._spec.stop)
        return Said(None, "nothing left to say")

    def usage(self) -> ModelUsage | None:
        return None


class ModelUser:
    """Asks a model what the customer says; in its conversation the agent is the user."""

    version = PROMPT_VERSION

    def __init__(self, spec: UserSpec, client: ModelClient, max_tokens: int = 1000) -> None:
        self._spec, self._client, self._max_tokens = spec, client, max_tokens
        self._turns = 0
        self._talk: Conversation | None = None
        self.opening = spec.opening

    def answer(self, agent_says: str, deadline_s: float | None) -> Said:
        self._turns += 1
        if self._turns >= self._spec.max_turns:
            return Said(None, f"the user's {self._spec.max_turns} turns are used up")
        if self._talk is None:
            self._talk = Conversation(f"(You began: {self._spec.opening})\n\nThe agent says: {agent_says}")
        else:
            self._talk.add_user([text_block(agent_says)])
        known = "\n".join(f"- {name}: {value}" for name, value in self._spec.known.items()) or "- nothing more"
        system = _PROMPT.format(persona=self._spec.persona, goal=self._spec.goal, known=known, stop=self._spec.stop)
        request = {
            "model": self._client.meter.model,
            "max_tokens": self._max_tokens,
            "system": system,
            "messages": self._talk.messages(caching=False),
            "stream": True,
        }
        reply = self._client.ask(request, deadline_s)
        self._talk.add_reply(reply)
        return _said(reply.text, self._spec.stop)

    def usage(self) -> ModelUsage | None:
        return self._client.meter.usage(self._turns)


def parse_user(data: Mapping[str, object]) -> UserSpec:
    """A task's simulated user. Raises UserSpecError with the first thing that is wrong."""
    try:
        return UserSpec.model_validate({key: value for key, value in data.items() if value not in ("", None)})
    except ValidationError as error:
        fault = error.errors()[0]
        raise UserSpecError(f"simulated_user.{'.'.join(map(str, fault['loc']))}: {fault['msg']}") from None


def _said(text: str, stop: str) -> Said:
    words = text.replace(stop, "").strip()
    return Said(None, "the user has ended it") if stop in text or not words else Said(words)
