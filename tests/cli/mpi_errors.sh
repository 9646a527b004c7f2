#!/bin/sh
# Errors under mpirun: what all processes have is said once, what one has is not lost, and the exit
# status is what it would be without mpirun.
# Usage: mpi_errors.sh RINGSIDE MPIRUN
set -u
ringside=$1
mpirun=$2
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
status=0

# expect NAME STATUS COUNT TEXT: of the last run
expect() {
  count=$(grep -c -e "$4" "$scratch/errors")
  [ "$result" = "$2" ] && [ "$count" = "$3" ] && return
  echo "$1: exit status $result instead of $2, or $count times instead of $3: $4"
  cat "$scratch/output" "$scratch/errors"
  status=1
}
run() {
  result=0
  "$mpirun" "$@" > "$scratch/output" 2> "$scratch/errors" || result=$?
}

run -n 3 "$ringside" run --backend mpi --strategy ddp --bad
expect "a bad option" 2 1 'ringside: error: unknown option --bad'
expect "its hint" 2 1 '^hint: '

printf 'strategy = "ddp"\nbackend = "mpi"\ndevices = "three"\n' > "$scratch/bad.toml"
run -n 3 "$ringside" run --config "$scratch/bad.toml"
expect "a bad scenario" 2 1 'ringside: error: .*bad.toml'

run -n 3 "$ringside" run --config "$scratch/missing.toml"
expect "a missing scenario" 2 1 'ringside: error: .*missing.toml'

run -n 3 "$ringside" run --backend mpi --strategy ddp --devices 5 --steps 1
expect "too few processes" 2 1 'ringside: error: 5 ranks must run, but there are 3 processes'

run -n 3 "$ringside" run --backend mpi --strategy ddp --bad --json
expect "with --json" 2 1 'ringside: error: unknown option --bad'
[ "$(grep -c '"ringside": "error"' "$scratch/output")" = 1 ] || {
  echo "with --json: not one document"
  cat "$scratch/output"
  status=1
}

# mpirun must not end the others when one has failed; then its own exit status is 0.
set -- --mca orte_abort_on_non_zero_status 0
run "$@" -n 2 "$ringside" run --bad : -n 1 "$ringside" run --worse
expect "of two alike and one other, the two" 0 1 'ringside: error: unknown option --bad'
expect "of two alike and one other, the other" 0 1 'ringside: error: unknown option --worse'
run "$@" -n 1 "$ringside" --version : -n 1 "$ringside" run --bad
expect "an error of one of two" 0 1 'ringside: error: unknown option --bad'

run -n 2 sh -c '"$1" run --bad; "$1" run --bad; true' sh "$ringside"
expect "two programs in a row" 0 2 'ringside: error: unknown option --bad'

exit $status
