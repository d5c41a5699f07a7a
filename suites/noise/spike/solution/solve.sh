#!/bin/bash
exec python3 /app/work.py spike 192 5
