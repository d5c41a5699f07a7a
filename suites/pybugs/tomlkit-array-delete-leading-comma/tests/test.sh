#!/bin/bash
exec python3 -I /tests/run_checks.py
