#!/bin/bash
# The static checks of tools/checks/: format, include layers, size limits, library manners (of build/), public
# headers, words. Prints what is wrong and, as its last line, "N passed, N failed".
set -u
cd "$(dirname "$0")/.." || exit 1
passed=0
failed=0
for name in format layers limits manners headers words; do
  if python3 "tools/checks/$name.py"; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
  fi
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
