"""What is measured: a model and its scaffold, as something that works inside a sandbox."""
