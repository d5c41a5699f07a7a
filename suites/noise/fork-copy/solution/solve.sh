#!/bin/bash
exec python3 /app/work.py copies 3 48
