#!/bin/bash
exec python3 /app/work.py crowd 60
