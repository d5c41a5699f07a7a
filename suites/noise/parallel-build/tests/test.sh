#!/bin/bash
if [ "$(cat /app/result.txt 2>/dev/null)" = "processes gave 4" ]; then echo 1; else echo 0; fi > /logs/verifier/reward.txt
