#!/bin/bash
set -e
desk refund 5002 LAMP-A
desk tell '59.00; sale'
