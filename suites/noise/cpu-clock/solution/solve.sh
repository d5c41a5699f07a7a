#!/bin/bash
exec python3 /app/work.py clock 1 1.0 3.0
