#!/bin/bash
set -e
desk cancel 5006
desk tell 34.25
