#!/bin/bash
exec python3 /app/work.py cache 40 128 2
