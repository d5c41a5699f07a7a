#!/bin/bash
set -e
desk voucher 5004 1084
desk tell 10.84
