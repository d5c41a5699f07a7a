#!/bin/bash
set -e
desk address 5010 '4 New Street'
desk tell '4 New Street'
