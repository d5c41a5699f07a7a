"""A tool loop on the anthropic library. The loop runs on the host, its tools in the sandbox.

How it ends. The model is done: "finished". A declared limit of turns, tokens or context: "limit", named in
the message. Money: "budget". Time: "timeout". A refusal: "error". The API failing for good: "model_error",
with the flag "auth" where the key was refused, so that nothing more is burnt.
"""

from dataclasses import asdict, replace

from orchestrator.agents.base import AgentContext, AgentResult, ModelUsage
from orchestrator.agents.claude_request import model_client, request_settings, without_nothing
from orchestrator.agents.claude_tools import ToolLimits, ToolOutcome, Tools
from orchestrator.agents.conversation import Block, Conversation, result_block, text_block
from orchestrator.agents.settings import SCAFFOLD_VERSION, ClaudeSettings
from orchestrator.agents.simulated_user import (
    ModelUser,
    Said,
    ScriptedUser,
    SimulatedUser,
    UserSpecError,
    parse_user,
)
from orchestrator.models.client import ModelClient
from orchestrator.models.failures import ModelFailureError
from orchestrator.models.prices import PriceTable, builtin_prices
from orchestrator.models.reply import Reply, ToolCall
from sandboxes.base import Sandbox

DEFAULT_SYSTEM = (
    "You work on a task in a Linux container, with the tools given to you. Nobody can answer questions. Look "
    "before you change anything, check your work by running it, and end your turn when the task is done."
)
CUT_OFF = "Your reply was cut off at the limit of its length. Go on where it ended; make shorter steps."
VERSION = f"claude-loop-{SCAFFOLD_VERSION}"


class ClaudeAgent:
    """One configured loop; serves one attempt at a time and keeps nothing between attempts."""

    needs_solution = False
    needs_model = True

    def __init__(self, settings: ClaudeSettings, prices: PriceTable | None = None) -> None:
        self._settings = settings
        self._prices = prices or builtin_prices()

    def image_layers(self) -> tuple[str, ...]:
        return ()

    def setup(self, sandbox: Sandbox, context: AgentContext) -> None:
        """Nothing is installed: the loop runs on the host."""

    def run(self, sandbox: Sandbox, context: AgentContext) -> AgentResult:
        """Run the loop to one of its endings. Only SandboxError is raised."""
        if context.endpoint is None:
            return AgentResult("model_error", "the attempt has no model endpoint; start the gateway with a key")
        with model_client(self._settings, self._settings.model, self._prices, context) as client:
            try:
                user, user_client = self._user(context)
            except UserSpecError as error:
                return AgentResult("error", str(error), version=VERSION)
            try:
                return _Loop(self._settings, client, sandbox, context, user).run()
            finally:
                if user_client is not None:
                    user_client.close()

    def _user(self, context: AgentContext) -> tuple[SimulatedUser | None, ModelClient | None]:
        if context.simulated_user is None:
            return None, None
        spec = parse_user(context.simulated_user)
        if self._settings.user_model is None:
            if spec.script:
                return ScriptedUser(spec), None
            raise UserSpecError("the task has a simulated user; say which model plays it with user_model")
        client = model_client(self._settings, self._settings.user_model, self._prices, context)
        return ModelUser(spec, client), client


class _Loop:
    """The state of one run."""

    def __init__(
        self,
        settings: ClaudeSettings,
        client: ModelClient,
        sandbox: Sandbox,
        context: AgentContext,
        user: SimulatedUser | None,
    ) -> None:
        self._settings, self._client, self._context, self._user = settings, client, context, user
        self._tools = Tools(sandbox, context, _tool_limits(settings))
        limits = [limit for limit in (settings.time_limit_s, context.timeout_s) if limit is not None]
        self._deadline_s = context.monotonic() + min(limits) if limits else None
        self._flags: list[str] = []
        self._turns = 0
        self._context_tokens = 0
        system = DEFAULT_SYSTEM if settings.system is None else settings.system
        if user is None:
            self._talk = Conversation(context.instruction)
        else:
            system = f"{system}\n\n{context.instruction}"
            self._talk = Conversation(user.opening)
        self._fixed = request_settings(settings, system)
        context.record({"role": "system", "content": system})
        if user is None:
            context.record({"role": "user", "content": context.instruction})
        else:
            context.record(
                {"role": "user", "name": "simulated_user", "content": user.opening, "prompt_version": user.version}
            )

    def run(self) -> AgentResult:
        try:
            while True:
                ended = self._limit() or self._turn()
                if ended is not None:
                    return self._finish(ended)
        except ModelFailureError as failure:
            return self._finish(self._failed(failure))

    def _turn(self) -> AgentResult | None:
        """One reply and what follows from it; a result when the run has ended."""
        begin_s = self._context.monotonic()
        try:
            reply = self._client.ask(self._request(), self._deadline_s)
        except ModelFailureError as failure:
            if failure.kind == "context_full" and self._make_room("the API refused the prompt as too long"):
                return None
            raise
        self._turns += 1
        self._context_tokens = reply.tokens.total
        self._record(reply, self._context.monotonic() - begin_s)
        return self._after(reply)

    def _after(self, reply: Reply) -> AgentResult | None:
        reason = reply.stop_reason
        if reason == "refusal":
            self._flag("refusal")
            return AgentResult("error", f"the model refused: {reply.text[:300]}")
        if reason == "model_context_window_exceeded" and not self._make_room("the model's window is full"):
            return AgentResult("limit", f"context: the window of {self._settings.model} is full")
        if not reply.blocks:
            self._flag("empty_reply")
            return AgentResult("finished", f"the reply was empty (stop reason {reason})")
        self._talk.add_reply(reply)
        if reply.tool_calls:
            return self._use_tools(reply)
        if reason in ("max_tokens", "model_context_window_exceeded"):
            self._flag(str(reason))
            self._talk.add_user([text_block(CUT_OFF)])
            return None
        if reason == "pause_turn":
            return None
        return self._hear_user(reply) if self._user is not None else AgentResult("finished")

    def _use_tools(self, reply: Reply) -> AgentResult | None:
        """All calls of a reply, in order; their results are one message."""
        blocks: list[Block] = []
        for call in reply.tool_calls:
            left_s = self._left_s()
            if left_s is not None and left_s <= 0:
                return self._timed_out()
            outcome = self._use(call, left_s)
            blocks.append(result_block(call.call_id, outcome.content, outcome.is_error, outcome.image))
        if reply.stop_reason == "max_tokens":
            self._flag("max_tokens")
            blocks.append(text_block(CUT_OFF))
        self._talk.add_user(blocks)
        return None

    def _use(self, call: ToolCall, left_s: float | None) -> ToolOutcome:
        if call.broken is not None:
            self._flag("broken_tool_input")
            outcome = ToolOutcome(f"the tool's input was not valid JSON: {call.broken[:500]}", is_error=True)
        else:
            outcome = self._tools.run(call.name, call.input, left_s)
        self._context.record(
            {
                "role": "tool",
                "tool_call_id": call.call_id,
                "name": call.name,
                **without_nothing(asdict(replace(outcome, image=""))),
            }
        )
        return outcome

    def _hear_user(self, reply: Reply) -> AgentResult | None:
        assert self._user is not None
        try:
            said: Said = self._user.answer(reply.text, self._deadline_s)
        except ModelFailureError as failure:
            failure.message = f"simulated user: {failure.message}"
            raise
        if said.text is None:
            return AgentResult("finished", said.why)
        self._context.record({"role": "user", "name": "simulated_user", "content": said.text})
        self._talk.add_user([text_block(said.text)])
        return None

    def _limit(self) -> AgentResult | None:
        """A limit that is reached, before the next request."""
        settings, meter = self._settings, self._client.meter
        left_s = self._left_s()
        if left_s is not None and left_s <= 0:
            return self._timed_out()
        if self._turns >= settings.max_turns:
            return AgentResult("limit", f"turns: {self._turns} of {settings.max_turns} used")
        if settings.token_limit is not None and meter.tokens.total >= settings.token_limit:
            return AgentResult("limit", f"tokens: {meter.tokens.total} of {settings.token_limit} used")
        if settings.cost_limit_usd is not None and (meter.cost_usd or 0.0) >= settings.cost_limit_usd:
            return AgentResult("budget", f"cost: {meter.cost_usd:.4f} of {settings.cost_limit_usd:.4f} USD used")
        room = settings.context_share * settings.context_tokens
        if self._context_tokens > room and not self._make_room(f"{self._context_tokens} tokens in the context"):
            return AgentResult("limit", f"context: {self._context_tokens} of {settings.context_tokens} tokens used")
        return None

    def _make_room(self, why: str) -> bool:
        """Drop old tool results where the settings allow it and there are any; recorded and flagged."""
        if self._settings.on_context_full == "stop":
            return False
        dropped = self._talk.drop_results()
        if not dropped:
            return False
        self._flag("context_dropped")
        self._context_tokens = 0
        self._context.record({"role": "harness", "event": "context_dropped", "results": dropped, "why": why})
        return True

    def _failed(self, failure: ModelFailureError) -> AgentResult:
        if failure.kind == "deadline":
            return self._timed_out()
        if failure.kind == "budget":
            return AgentResult("budget", failure.message)
        if failure.kind == "context_full":
            return AgentResult("limit", f"context: {failure.message}")
        if failure.kind in ("auth", "not_recorded"):
            self._flag(failure.kind)
        return AgentResult("model_error", str(failure))

    def _finish(self, ended: AgentResult) -> AgentResult:
        usage: ModelUsage = self._client.meter.usage(self._turns)
        user = self._user.usage() if self._user is not None else None
        self._context.record(
            {
                "role": "harness",
                "event": "agent_result",
                "ending": ended.ending,
                "usage": without_nothing(asdict(usage)),
            }
        )
        return replace(ended, usage=usage, version=VERSION, flags=tuple(self._flags), user_usage=user)

    def _timed_out(self) -> AgentResult:
        if self._settings.time_limit_s is not None and self._settings.time_limit_s < (self._context.timeout_s or 1e18):
            return AgentResult(
                "timeout", f"time: the agent's own limit of {self._settings.time_limit_s:g} s is used up"
            )
        return AgentResult("timeout", f"the task's {self._context.timeout_s:g} s are used up")

    def _left_s(self) -> float | None:
        return None if self._deadline_s is None else self._deadline_s - self._context.monotonic()

    def _flag(self, name: str) -> None:
        if name not in self._flags:
            self._flags.append(name)

    def _record(self, reply: Reply, duration_s: float) -> None:
        calls = [
            {"id": c.call_id, "name": c.name, "input": dict(c.input)} | ({"broken": c.broken} if c.broken else {})
            for c in reply.tool_calls
        ]
        self._context.record(
            without_nothing(
                {
                    "role": "assistant",
                    "content": reply.text,
                    "thinking": reply.thinking,
                    "tool_calls": calls,
                    "stop_reason": reply.stop_reason,
                    "model": reply.model,
                    "usage": asdict(reply.tokens),
                    "cost_usd": self._client.meter.last_cost_usd,
                    "duration_s": duration_s,
                }
            )
        )

    def _request(self) -> dict[str, object]:
        return {**self._fixed, "messages": self._talk.messages(self._settings.prompt_caching)}


def _tool_limits(settings: ClaudeSettings) -> ToolLimits:
    return ToolLimits(settings.tool_timeout_s, settings.tool_output_bytes, settings.display)
