#!/bin/bash
set -e
desk tell 'cannot; 10%'
