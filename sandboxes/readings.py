"""What the host is doing at one moment: load, steal, frequency, temperature. Never hashed."""

import os
from pathlib import Path

from sandboxes.snapshot import HostReadings


class HostMeter:
    """Reads the host. Steal is the share of time since the reading before (since boot at the first)."""

    def __init__(self, root: str = "/") -> None:
        self._root = Path(root)
        self._before = (0, 0)

    def read(self, neighbours: int | None = None) -> HostReadings:
        """`neighbours`: other trials on this host, as the caller counted them."""
        return HostReadings(
            load_1m=self._load(),
            steal_share=self._steal(),
            frequency_mhz=self._frequency(),
            temperature_c=self._temperature(),
            neighbours=neighbours,
        )

    def _load(self) -> float | None:
        text = self._text("proc/loadavg")
        return float(text.split()[0]) if text else None

    def _steal(self) -> float | None:
        times = parse_cpu_times(self._text("proc/stat") or "")
        if times is None:
            return None
        total, steal = times[0] - self._before[0], times[1] - self._before[1]
        self._before = times
        return steal / total if total > 0 else 0.0

    def _frequency(self) -> float | None:
        khz = self._text("sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq")
        if khz is not None and khz.isdigit():
            return int(khz) / 1000
        return parse_frequency(self._text("proc/cpuinfo") or "")

    def _temperature(self) -> float | None:
        zones = sorted((self._root / "sys/class/thermal").glob("thermal_zone*/temp"))
        values = [self._text(os.path.relpath(zone, self._root)) for zone in zones]
        degrees = [int(value) / 1000 for value in values if value and value.lstrip("-").isdigit()]
        return max(degrees, default=None)

    def _text(self, path: str) -> str | None:
        try:
            return (self._root / path).read_text(errors="replace").strip() or None
        except OSError:
            return None


def parse_cpu_times(stat: str) -> tuple[int, int] | None:
    """(all ticks, stolen ticks) of the first line of /proc/stat; guest time is part of user time."""
    fields = stat.partition("\n")[0].split()
    if len(fields) < 9 or fields[0] != "cpu":
        return None
    ticks = [int(field) for field in fields[1:9]]
    return sum(ticks), ticks[7]


def parse_frequency(cpuinfo: str) -> float | None:
    """The mean of "cpu MHz" over the processors of /proc/cpuinfo."""
    lines = (line.partition(":") for line in cpuinfo.splitlines())
    values = [float(value) for key, _, value in lines if key.strip() == "cpu MHz"]
    return sum(values) / len(values) if values else None
