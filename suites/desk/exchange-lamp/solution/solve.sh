#!/bin/bash
set -e
desk exchange 5011 LAMP-A LAMP-B
desk tell 13.00
