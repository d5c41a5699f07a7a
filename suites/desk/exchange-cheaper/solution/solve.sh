#!/bin/bash
set -e
desk exchange 5005 SPADE-L SPADE-S
desk tell 15.00
