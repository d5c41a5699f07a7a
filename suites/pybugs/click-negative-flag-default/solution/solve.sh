#!/bin/bash
exec python3 /solution/solution.py
