#!/bin/bash
exec python3 /app/work.py processes 4 60
