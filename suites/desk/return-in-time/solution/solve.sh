#!/bin/bash
set -e
desk refund 5005 SPADE-L
desk tell 39.90
