"""What is asked and how it is judged: tasks, suites and graders. Knows nothing of runs."""
