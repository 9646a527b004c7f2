#!/bin/sh
# The program under mpirun: one process speaks for all, and its document is whole.
# Usage: mpi_bench.sh RINGSIDE MPIRUN [ITS ARGUMENTS ...]
set -eu
ringside=$1
shift
output=$("$@" "$ringside" bench all-gather --backend mpi --end 4K --factor 8 --json)
[ "$(printf '%s\n' "$output" | grep -c '"ringside": "bench"')" = 1 ] || {
  echo "not one document: $output"
  exit 1
}
printf '%s\n' "$output" | grep -q '^  "wrong": 0$' || {
  echo "no result, or a wrong one: $output"
  exit 1
}
