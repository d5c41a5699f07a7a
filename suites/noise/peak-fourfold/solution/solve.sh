#!/bin/bash
exec python3 /app/work.py peak 512
