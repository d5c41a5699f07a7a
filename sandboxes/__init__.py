"""A place where one trial runs: containers, cores, images, readings. Knows nothing of tasks."""
