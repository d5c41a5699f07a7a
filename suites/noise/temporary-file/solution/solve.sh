#!/bin/bash
exec python3 /app/work.py disk 288
