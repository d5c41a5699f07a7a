"""Plan, order, retry, schedule, status: decisions only. No clock, no disk, no Ray."""
