"""Prometheus metrics of a running sweep, over HTTP. Hears what displays hear; decides nothing.

Counters and histograms are fed by rows once they are durable; gauges are read from Progress when somebody asks, so
that nobody's asking costs nothing. No metric names a task or an attempt: their number has no bound.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager

from prometheus_client import CollectorRegistry, Counter, Histogram, start_http_server
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from orchestrator.config import ConfigError
from orchestrator.execution.progress import ArmProgress, Progress
from orchestrator.execution.rows import PHASES
from orchestrator.execution.running import Listener

LOOPBACK = "127.0.0.1"
SECONDS = (0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100, 300, 1000, 3000, 10_000)
TOKENS = {
    "tokens_in": "in",
    "tokens_out": "out",
    "tokens_cache_read": "cache_read",
    "tokens_cache_written": "cache_written",
}
STATES: Mapping[str, Callable[[ArmProgress], int]] = {
    "planned": lambda arm: arm.planned,
    "done": lambda arm: arm.done,
    "passed": lambda arm: arm.passed,
    "running": lambda arm: arm.running,
    "no_verdict": lambda arm: arm.no_verdict,
}


class SweepMetrics(Collector):
    """The metrics of one command; its waves follow each other in `progress`."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.progress: Progress | None = None
        made = self.registry
        self.attempts = Counter(
            "passhat_attempts", "Attempts with a durable row", ("arm", "status", "origin"), registry=made
        )
        self.phases = Histogram(
            "passhat_phase_seconds",
            "Seconds of each phase of an attempt; cores_wait: for exclusive cores, image: made ready, start_wait:"
            " held back because the engine is slow, create and remove: the engine's own time",
            ("phase",),
            buckets=SECONDS,
            registry=made,
        )
        self.tokens = Counter("passhat_tokens", "Tokens of attempts", ("arm", "kind"), registry=made)
        self.cost = Counter(
            "passhat_cost_usd", "US dollars of attempts where the price is known", ("arm",), registry=made
        )
        self.rate_limited = Counter(
            "passhat_rate_limited_seconds", "Waiting because of 429 and 529", ("arm",), registry=made
        )
        self.oom_kills = Counter("passhat_oom_kills", "Kills for memory counted by the kernel", ("arm",), registry=made)
        self.events = Counter("passhat_events", "Warnings by kind, as in the sweep's log", ("event",), registry=made)
        self.registry.register(self)

    def hear(self, event: str, fields: Mapping[str, object]) -> None:
        """One event of the sweep; "attempt" brings a row."""
        if event == "attempt":
            self._row(fields)
        elif event != "progress":
            self.events.labels(event).inc()

    def _row(self, row: Mapping[str, object]) -> None:
        arm = str(row["arm"])
        self.attempts.labels(arm, str(row["status"]), str(row["origin"])).inc()
        for phase in PHASES:
            seconds = row.get(f"{phase}_s")
            if isinstance(seconds, int | float):
                self.phases.labels(phase).observe(seconds)
        sums = [(self.tokens.labels(arm, kind), column) for column, kind in TOKENS.items()]
        sums += [(self.cost.labels(arm), "cost_usd"), (self.rate_limited.labels(arm), "rate_limited_s")]
        sums += [(self.oom_kills.labels(arm), "used_oom_kills")]
        for counter, column in sums:
            value = row.get(column)
            if isinstance(value, int | float):
                counter.inc(value)

    def collect(self) -> Iterable[GaugeMetricFamily]:
        """The gauges, as Progress has them now."""
        trials = GaugeMetricFamily("passhat_trials", "Trials by arm and state", labels=("arm", "state"))
        waiting = GaugeMetricFamily("passhat_waiting_trials", "Attempts that no worker has yet")
        workers = GaugeMetricFamily("passhat_workers", "Workers asked for, on all nodes")
        remaining = GaugeMetricFamily("passhat_remaining_seconds", "By the rate of this run so far")
        progress = self.progress
        if progress is not None:
            for name, arm in list(progress.arms.items()):
                for state, count in STATES.items():
                    trials.add_metric((name, state), count(arm))
            waiting.add_metric((), progress.waiting)
            workers.add_metric((), progress.workers)
            if progress.remaining_s is not None:
                remaining.add_metric((), progress.remaining_s)
        return [trials, waiting, workers, remaining]


class Metered:
    """A display whose events the metrics hear too."""

    def __init__(self, inner: Listener, metrics: SweepMetrics) -> None:
        self._inner, self._metrics = inner, metrics

    @property
    def progress(self) -> Progress | None:
        return self._inner.progress

    @progress.setter
    def progress(self, value: Progress | None) -> None:
        self._inner.progress = self._metrics.progress = value

    def hear(self, event: str, fields: Mapping[str, object]) -> None:
        self._metrics.hear(event, fields)
        self._inner.hear(event, fields)

    def close(self) -> None:
        self._inner.close()


@contextmanager
def serving(address: str) -> Iterator[SweepMetrics]:
    """Serve metrics at PORT (of the loopback) or HOST:PORT for the block. Raises ConfigError."""
    host, _, port = address.rpartition(":")
    if not port.isdigit() or int(port) > 65535:
        raise ConfigError(f"--metrics {address!r} is neither a port nor host:port; for example --metrics 9464")
    metrics = SweepMetrics()
    try:
        server, thread = start_http_server(int(port), host.strip("[]") or LOOPBACK, metrics.registry)
    except OSError as error:
        raise ConfigError(f"metrics cannot be served at {address} ({error.strerror}); choose another port") from None
    try:
        yield metrics
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
