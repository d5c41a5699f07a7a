#!/bin/bash
# The database's tables, written out again, are what the solution reads.
cp -r /data /tmp/data
python3 -c "import sqlite3; open('/tmp/data/shipping.sql', 'w').write(chr(10).join(sqlite3.connect('/data/shipping.db').iterdump()))"
ISLANDS_DATA=/tmp/data python3 /solution/solve.py | tee /app/answer.txt
