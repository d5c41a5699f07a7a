#!/bin/bash
set -e
desk address 5010 '12 Elm Court'
desk refund 5009 HOSE-25
desk tell '102.75; 12 Elm Court'
