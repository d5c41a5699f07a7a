"""The command line: one small module per command. Heavy imports happen inside the commands."""
