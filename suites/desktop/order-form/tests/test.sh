#!/bin/bash
if cmp -s /tests/goal.txt "/desktop/state/order.txt" && [ "$(ls /desktop/state | wc -l)" = 1 ]; then echo 1; else echo 0; fi > /logs/verifier/reward.txt
