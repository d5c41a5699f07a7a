#!/bin/bash
set -e
desk voucher 5008 1890
desk tell 18.90
