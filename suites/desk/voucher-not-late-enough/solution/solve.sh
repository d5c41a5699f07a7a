#!/bin/bash
set -e
desk tell 'cannot; five days'
