#!/bin/bash
# Where passhat's own grader is not there: the end state and what was told with `desk tell`.
python3 -I /tests/check.py > /logs/verifier/reward.txt
