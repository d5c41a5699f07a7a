#!/bin/bash
set -e
desk refund 5007 LAMP-B
desk tell 92.00
