#!/bin/bash
set -e
desk cancel 5001
desk tell 68.30
