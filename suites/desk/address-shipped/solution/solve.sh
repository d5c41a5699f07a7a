#!/bin/bash
set -e
desk tell 'cannot; shipped'
