#!/bin/bash
exec python3 /app/work.py processes 8 24
