"""Plans for tests, with only what a test is about."""

from dataclasses import replace

from orchestrator.core.plan import Arm, Plan


def make_plan(tasks: int = 3, agents: int = 2, repeats: int = 2, waves: int = 1, **changes: object) -> Plan:
    """A plan over tasks t0, t1, .. and agents a0, a1, ..; `changes` are fields of it."""
    plan = Plan(
        sweep_id="s-1",
        name="s",
        created_at="2026-01-01T00:00:00+00:00",
        seed=7,
        order="blocked",
        repeats=repeats,
        waves=waves,
        suite="suite",
        suite_version="1",
        suite_digest="d",
        arms=tuple(Arm(f"a{i}", "1x") for i in range(agents)),
        task_digests={f"t{i}": f"digest-of-{i}" for i in range(tasks)},
        agent_digests={f"a{i}": f"agent-{i}" for i in range(agents)},
        durations_s={},
        config={"resources": [{"name": "1x", "headroom": 1.0}], "timeout_multiplier": 1.0},
        passhat_version="0",
    )
    return replace(plan, **changes)
