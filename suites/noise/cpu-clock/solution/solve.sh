#!/bin/bash
exec python3 /app/work.py clock 1 0.4 5.5
