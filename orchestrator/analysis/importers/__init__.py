"""Rows from the result files of other harnesses; what they do not tell stays unknown."""
