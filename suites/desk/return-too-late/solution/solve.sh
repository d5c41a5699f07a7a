#!/bin/bash
set -e
desk tell 'cannot; 30 days'
