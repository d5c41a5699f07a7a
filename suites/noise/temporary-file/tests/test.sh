#!/bin/bash
if [ "$(cat /app/result.txt 2>/dev/null)" = "disk gave 9259fbdc6ba2" ]; then echo 1; else echo 0; fi > /logs/verifier/reward.txt
