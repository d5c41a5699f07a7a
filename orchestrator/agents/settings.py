"""The settings of agents as they stand in a sweep file, their digests, and the agents made from them.

Every setting that can change an agent's behaviour is part of its digest; the name is not, as it is only a
label. A file that is brought along counts with its content, a variable taken from the host with its name
only, as its value may be a secret.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from orchestrator.agents.base import Agent
from orchestrator.agents.command import BroughtFile, CommandAgent, CommandSpec
from orchestrator.agents.presets import PARSERS, PRESETS, Preset
from orchestrator.agents.reference import NopAgent, OracleAgent
from orchestrator.models.prices import PriceTable

SCAFFOLD_VERSION = 1
"""Grows whenever an agent of ours behaves differently under the same settings."""

Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._+-]{0,63}$")]
ModelName = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._:/@+\[\]-]{0,127}$")]
Seconds = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Natural = Annotated[int, Field(ge=1)]
Variable = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]


class SettingsError(ValueError):
    """Settings that are well-formed but cannot be used here; the message is what a person reads."""


class _Settings(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    name: Name

    def digest(self) -> str:
        """sha256 over every setting that can change the agent's behaviour. Reads the files brought along."""
        text = json.dumps(self._digested(), sort_keys=True, separators=(",", ":"), ensure_ascii=True)
        return hashlib.sha256(text.encode()).hexdigest()

    def relative_to(self, base: Path) -> "AgentSettings":
        """The same settings with relative host paths taken from `base`."""
        return self  # type: ignore[return-value]

    def _digested(self) -> dict[str, object]:
        return {**self.model_dump(mode="json", exclude={"name"}), "scaffold_version": SCAFFOLD_VERSION}


class OracleSettings(_Settings):
    """Runs the task's own solution."""

    kind: Literal["oracle"]

    @property
    def model_name(self) -> str | None:
        return None


class NopSettings(_Settings):
    """Does nothing."""

    kind: Literal["nop"]

    @property
    def model_name(self) -> str | None:
        return None


class FileSetting(BaseModel):
    """A file of this host that the agent needs in the container."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    source: str
    destination: Annotated[str, Field(pattern=r"^/")]
    executable: bool = False


class CommandSettings(_Settings):
    """Any command line, run in the container as the task's user; `preset` fills in what is not given."""

    kind: Literal["command"]
    preset: str | None = None
    argv: tuple[str, ...] = ()
    env: dict[Variable, str] = {}
    env_from_host: tuple[Variable, ...] = ()
    files: tuple[FileSetting, ...] = ()
    install: tuple[str, ...] = ()
    model: ModelName | None = None
    needs_model: bool | None = None
    parser: str | None = None
    timeout_s: Seconds | None = None
    max_output_bytes: Natural = 1_000_000

    @model_validator(mode="after")
    def _something_to_run(self) -> "CommandSettings":
        if self.preset is not None and self.preset not in PRESETS:
            raise ValueError(f"preset {self.preset!r} is not known; there are {', '.join(sorted(PRESETS))}")
        if self.parser is not None and self.parser not in PARSERS:
            raise ValueError(f"parser {self.parser!r} is not known; there are {', '.join(sorted(PARSERS))}")
        if self.preset is None and not self.argv:
            raise ValueError("a command agent needs argv (a list of words) or a preset")
        if any("{model}" in word for word in (self.argv or self._preset.argv)) and self.model is None:
            raise ValueError('the command line names {model}; say which with model = "..."')
        return self

    @property
    def model_name(self) -> str | None:
        return self.model

    @property
    def _preset(self) -> Preset:
        return PRESETS[self.preset] if self.preset else Preset(argv=(), needs_model=False)

    def relative_to(self, base: Path) -> "CommandSettings":
        files = tuple(f.model_copy(update={"source": str(base / f.source)}) for f in self.files)
        return self.model_copy(update={"files": files})

    def spec(self, host_env: Mapping[str, str]) -> CommandSpec:
        """What is run. Raises SettingsError where a file or a variable of the host is missing."""
        preset = self._preset
        missing = [name for name in self.env_from_host if name not in host_env]
        if missing:
            raise SettingsError(f"agent {self.name}: env_from_host: {', '.join(missing)} not set on this host")
        taken = {name: host_env[name] for name in self.env_from_host}
        return CommandSpec(
            argv=self.argv or preset.argv,
            env={**preset.env, **taken, **self.env},
            files=tuple(
                BroughtFile(f.destination, self._read(f), 0o755 if f.executable else 0o644) for f in self.files
            ),
            layers=self.install or preset.install,
            model=self.model,
            needs_model=preset.needs_model if self.needs_model is None else self.needs_model,
            timeout_s=self.timeout_s,
            max_output_bytes=self.max_output_bytes,
            parse=PARSERS[self.parser or preset.parser],
        )

    def _read(self, file: FileSetting) -> bytes:
        try:
            return Path(file.source).read_bytes()
        except OSError as error:
            message = f"agent {self.name}: files: {file.source} cannot be read ({error.strerror})"
            raise SettingsError(message) from None

    def _digested(self) -> dict[str, object]:
        preset = self._preset
        told = {
            "argv": preset.argv,
            "env": dict(preset.env),
            "install": preset.install,
            "parser": preset.parser,
        }
        files = [[f.destination, f.executable, hashlib.sha256(self._read(f)).hexdigest()] for f in self.files]
        return {**super()._digested(), "preset": told, "files": files}


class ClaudeSettings(_Settings):
    """A tool loop on the anthropic library; the tools run in the sandbox, the loop outside of it.

    `thinking`: "adaptive", a number of tokens, or None for off. `token_limit` counts everything the model
    read and wrote. `context_tokens`: size of the model's window; `on_context_full` "stop" ends the attempt
    with ending "limit", "drop_tool_results" replaces the oldest tool results once `context_share` is used.
    `cost_limit_usd` is the attempt's budget, kept by the gateway too. `user_model` plays a task's simulated
    user; without it the task's own script does, where it has one. The tool "computer" needs a task with a
    display and xdotool and scrot; `display` is its size in pixels.
    """

    kind: Literal["claude"]
    model: ModelName
    system: str | None = None
    effort: Literal["low", "medium", "high", "xhigh", "max"] | None = None
    thinking: Literal["adaptive"] | Annotated[int, Field(ge=1024)] | None = None
    temperature: Annotated[float, Field(ge=0, le=1)] | None = None
    max_tokens: Natural = 16_000
    max_turns: Natural = 200
    token_limit: Natural | None = None
    cost_limit_usd: Seconds | None = None
    time_limit_s: Seconds | None = None
    context_tokens: Natural = 200_000
    context_share: Annotated[float, Field(gt=0, le=1)] = 0.9
    on_context_full: Literal["stop", "drop_tool_results"] = "drop_tool_results"
    user_model: ModelName | None = None
    tools: Annotated[tuple[Literal["bash", "edit", "computer"], ...], Field(min_length=1)] = ("bash", "edit")
    display: tuple[Natural, Natural] = (1024, 768)
    parallel_tools: bool = True
    tool_timeout_s: Seconds = 120.0
    tool_output_bytes: Annotated[int, Field(ge=200)] = 16_000
    prompt_caching: bool = True
    stream: bool = True
    api_retries: Annotated[int, Field(ge=0, le=50)] = 6
    api_backoff_s: Seconds = 1.0
    api_backoff_max_s: Seconds = 60.0
    request_timeout_s: Seconds = 600.0

    @property
    def model_name(self) -> str | None:
        return self.model

    @model_validator(mode="after")
    def _fits_together(self) -> "ClaudeSettings":
        if isinstance(self.thinking, int) and self.thinking >= self.max_tokens:
            raise ValueError(f"thinking = {self.thinking} leaves nothing of max_tokens = {self.max_tokens}")
        if self.thinking is not None and self.temperature is not None:
            raise ValueError("temperature cannot be set while thinking is on; leave one of them out")
        return self


class ReplaySettings(_Settings):
    """Does again, without a model, what recorded transcripts did; `source`: a transcript or a folder of them.

    A transcript belongs to a task when its first user message is the task's instruction; with several, the
    trial's seed chooses. `compare` "results" flags tool results that differ as drift, "off" does not.
    """

    kind: Literal["replay"]
    source: str
    compare: Literal["results", "off"] = "results"
    tool_timeout_s: Seconds = 120.0

    @property
    def model_name(self) -> str | None:
        return None

    def relative_to(self, base: Path) -> "ReplaySettings":
        return self.model_copy(update={"source": str(base / self.source)})


AgentSettings = Annotated[
    OracleSettings | NopSettings | CommandSettings | ClaudeSettings | ReplaySettings,
    Field(discriminator="kind"),
]


@dataclass(frozen=True, slots=True)
class AgentDeps:
    """What agents need of this host, read above: its environment (only the names settings ask for are
    looked at), how transcripts are opened (None: agents.replay reads files itself), and the prices in force
    (None: those that ship)."""

    host_env: Mapping[str, str] = field(default_factory=dict)
    transcripts: Callable[[str], Iterable[str]] | None = None
    prices: PriceTable | None = None


def build_agent(settings: AgentSettings, deps: AgentDeps | None = None) -> Agent:
    """The agent that these settings describe. Raises SettingsError when something of the host is missing."""
    deps = deps or AgentDeps()
    if isinstance(settings, OracleSettings):
        return OracleAgent()
    if isinstance(settings, NopSettings):
        return NopAgent()
    if isinstance(settings, CommandSettings):
        return CommandAgent(settings.spec(deps.host_env))
    if isinstance(settings, ReplaySettings):
        from orchestrator.agents.replay import ReplayAgent

        return ReplayAgent(settings, deps.transcripts)
    from orchestrator.agents.claude import ClaudeAgent

    return ClaudeAgent(settings, deps.prices)
