#!/bin/bash
exec python3 /app/work.py shared 96
