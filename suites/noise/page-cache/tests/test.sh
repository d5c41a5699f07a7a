#!/bin/bash
if [ "$(cat /app/result.txt 2>/dev/null)" = "cache gave 10240" ]; then echo 1; else echo 0; fi > /logs/verifier/reward.txt
