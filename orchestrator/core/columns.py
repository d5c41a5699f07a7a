"""The columns of `trials`: one row per attempt, written once. Pure: names, types, groups, meanings.

Design. A row is flat, so that any Parquet reader groups and filters it without unnesting. Units stand in
names (`_s`, `_bytes`, `_usd`); times are UTC; unknown is null, never NaN and never 0. `suite`, `agent`,
`resources` and `day` are hive partition keys *and* stand in the file, so that a single file explains
itself. A row never changes: what is learnt later (a judge's grade) goes into tables of its own, keyed by
attempt_id. `SCHEMA_VERSION` grows with every change of meaning; readers refuse a newer one.
"""

from dataclasses import dataclass

SCHEMA_VERSION = 1


@dataclass(frozen=True, slots=True)
class Column:
    """One column. type: string, int, float, bool, time (UTC, microseconds), day, strings, or map (string to float)."""

    name: str
    type: str
    group: str
    meaning: str
    required: bool = False


def _group(name: str, lines: str) -> list[Column]:
    columns = []
    for line in lines.strip().splitlines():
        head, _, meaning = line.strip().partition(" -- ")
        column, kind = head.split()
        columns.append(Column(column, kind.rstrip("!"), name, meaning, kind.endswith("!")))
    return columns


COLUMNS: tuple[Column, ...] = tuple(
    _group(
        "identity",
        """
        schema_version int! -- version of these columns
        sweep string! -- id of the sweep
        sweep_name string -- its name in the sweep file
        suite string! -- name of the suite
        suite_version string -- its declared version
        suite_digest string -- sha256 of its content
        task string! -- name of the task
        task_digest string -- sha256 of its content
        task_cluster string -- tasks whose results are correlated share one
        task_difficulty string -- as its author says
        agent string! -- name of the agent in the sweep
        agent_kind string -- oracle, nop, command, claude, replay
        agent_digest string -- sha256 of every setting that can change its behaviour
        agent_version string -- as the agent itself reported
        model string -- the model it used, as asked for
        resources string! -- name of the resource setting
        lane string! -- live or frozen
        arm string! -- agent, resources and lane in one word
        wave int! -- number of the scheduled pass, from 0
        wave_late bool -- run after its time had passed
        day day! -- UTC date on which the trial started
        repeat int! -- which of the n trials of the same task, arm and wave, from 0
        attempt int! -- number of the try, from 0; more only after an infrastructure failure
        final bool! -- whether no further attempt of this trial follows under the retry policy
        trial_key string! -- hash of sweep, task, arm, wave and repeat: the unit that is counted
        attempt_id string! -- trial_key and attempt
        plan_seed int -- seed of the random order
        plan_position int -- place in that order, from 0
        plan_order string -- blocked, or longest_first
        imported_from string -- the harness and file a row came from; null for our own
        """,
    )
    + _group(
        "verdict",
        """
        status string! -- how the attempt ended
        origin string! -- whose doing that was: agent, resources, infrastructure, operator
        passed bool -- the verdict; null without one
        score float -- graded score; null without a verdict
        rewards map -- every number the grader gave
        grader string -- kinds of the graders, joined by +
        grading_mode string -- shared or separate
        judge_version string -- model, prompt and settings of a model judge
        judge_verdict string -- what the judge said
        flags strings -- what must be looked at, e.g. changed:/usr/bin/python3, canary_passed
        suspect bool! -- a flag that keeps this row out of the score
        """,
    )
    + _group(
        "failure",
        """
        failure_phase string -- the phase in which it failed
        failure_kind string -- a short name of the failure
        failure_message string -- one sentence, bounded
        agent_exit_code int -- of a command agent
        agent_ending string -- finished, timeout, error, limit, budget, model_error
        """,
    )
    + _group(
        "requested",
        """
        headroom string -- limit over promise: a number, uncapped or absolute
        requested_cpus float -- cores promised
        requested_cpus_limit float -- cores at most; null: uncapped
        requested_pinned bool -- exclusive cores
        requested_memory_bytes int -- memory promised
        requested_memory_limit_bytes int -- kill limit; null: uncapped
        requested_swap_bytes int -- swap on top of memory
        requested_pids_limit int -- tasks at most
        requested_disk_bytes int -- writable layer; null: not limited
        requested_shm_bytes int -- size of /dev/shm
        requested_gpus int -- GPUs
        requested_network string -- none, public, allowlist
        requested_sidecar_cpus float -- cores promised to the services beside the agent together; null: none
        requested_sidecar_memory_bytes int -- memory promised to them together
        """,
    )
    + _group(
        "effective",
        """
        effective_cpus_quota float -- cores by CFS quota, from the engine; null: none
        effective_cpuset string -- from the engine
        effective_cpus_allowed string -- Cpus_allowed_list read inside
        effective_memory_limit_bytes int -- from the engine; null: uncapped
        effective_cgroup_memory_limit_bytes int -- from the cgroup; null: uncapped
        effective_memory_swap_bytes int -- memory and swap together, from the engine
        effective_pids_limit int -- from the engine
        effective_shm_bytes int -- from the engine
        effective_disk_bytes int -- null where the engine cannot enforce it
        effective_runtime string -- runc, runsc, ...
        effective_network string -- from the engine
        """,
    )
    + _group(
        "used",
        """
        used_memory_peak_bytes int -- the cgroup's peak, page cache included
        used_oom_kills int -- kills counted by the cgroup
        used_pids_limit_hits int -- refused forks counted by the cgroup
        used_cpu_s float -- processor time
        used_throttled_s float -- time held back by the quota
        used_throttled_periods int -- periods held back by the quota
        used_disk_written_bytes int -- bytes written to block devices
        used_sidecar_memory_peak_bytes map -- peak of each service beside the agent
        used_sidecar_oom_kills int -- kills counted in them together
        network_allowed strings -- hosts of the allowlist that were reached, and how often
        network_refused strings -- hosts that were asked for and not allowed, and how often
        """,
    )
    + _group(
        "environment",
        """
        snapshot_id string -- hash of the host's and the image's constants
        host_id string -- key into hosts/
        image_key string -- key into images/
        image_reference string -- the name that was asked for
        image_digest string -- identity of the image across hosts
        image_digest_kind string -- registry, recipe or engine
        image_engine_id string -- the engine's own id
        sidecar_images strings -- service=digest of each service beside the agent
        node string -- Ray's node, by host name
        environment_changed bool -- differs from the wave before
        neighbours_at_start int -- our other containers on this host
        load_at_start float -- 1-minute load
        load_at_end float -- 1-minute load
        steal_at_start float -- share of processor time stolen since boot
        steal_at_end float -- the same at the end
        frequency_mhz_at_start float -- mean over cores
        temperature_c_at_start float -- hottest zone
        """,
    )
    + _group(
        "timing",
        """
        queued_at time -- when the plan offered it to the cluster
        started_at time! -- when its worker began
        finished_at time! -- when its sandbox was removed
        total_s float -- finished less started
        cores_wait_s float -- waiting for exclusive cores
        image_s float -- image made ready
        network_s float -- a private network made ready, and waiting for one
        sidecars_s float -- services beside the agent started and healthy
        start_wait_s float -- waiting for a turn to start a container, when the engine is slow
        create_s float -- container created and started
        healthcheck_s float -- health check
        setup_s float -- agent set-up
        agent_s float -- agent run, waits for the model included
        kill_s float -- everything but PID 1 killed and checked
        artifacts_s float -- collect hooks and artifacts
        grade_s float -- grading, a separate container included
        remove_s float -- container removed
        model_wait_s float -- waiting for the model
        """,
    )
    + _group(
        "usage",
        """
        tokens_in int -- input tokens, cache excluded
        tokens_out int -- output tokens
        tokens_cache_read int -- input tokens read from the cache
        tokens_cache_written int -- input tokens written to the cache
        cost_usd float -- of this attempt; null where the price is not known
        judge_cost_usd float -- spent on judging
        price_version string -- the price list
        turns int -- turns of the agent's loop
        calls int -- requests to the model
        api_retries int -- requests repeated
        rate_limited_s float -- waiting because of 429 and 529
        """,
    )
    + _group(
        "policy",
        """
        retry_max int -- further attempts the policy allows
        retry_causes strings -- statuses that are retried
        retry_backoff_s float -- first wait
        timeout_multiplier float -- of the task's timeouts
        """,
    )
    + _group(
        "evidence",
        """
        transcript_uri string -- relative to the results root
        transcript_sha256 string -- of the compressed file
        artifacts_uri string -- relative to the results root
        artifacts_sha256 string -- of the compressed file
        output_dropped_bytes int -- bytes of output that were not kept
        """,
    )
)

NAMES: tuple[str, ...] = tuple(column.name for column in COLUMNS)
REQUIRED: frozenset[str] = frozenset(column.name for column in COLUMNS if column.required)
PARTITION_KEYS: tuple[str, ...] = ("suite", "agent", "resources", "day")
GROUPS: tuple[str, ...] = tuple(dict.fromkeys(column.group for column in COLUMNS))


def empty_row() -> dict[str, object]:
    """All columns, unknown."""
    return dict.fromkeys(NAMES)
