#!/bin/bash
set -e
desk tell 108.40
