"""Plans, runs, stores and analyses sweeps of trials."""
