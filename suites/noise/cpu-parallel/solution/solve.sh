#!/bin/bash
exec python3 /app/work.py clock 4 0.15 4.2
