"""Statistics of many trials per task: arrays in, frozen named results out; no table, no files, no global state."""
