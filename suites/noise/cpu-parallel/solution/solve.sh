#!/bin/bash
exec python3 /app/work.py clock 2 1.0 1.7
