#!/bin/bash
python3 -I /tests/check.py > /logs/verifier/reward.txt
