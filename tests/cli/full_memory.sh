#!/bin/sh
# Runs 500 simulated devices in ever more address space; each run must say that memory is full and exit
# with 1, or end well. (With less than 500 MB OpenBLAS, which takes 128 MB of address space for each core, waits for ever.) Usage: full_memory.sh PROGRAM
program=$1
failed=0
refused=0
for kilobytes in 550000 600000 600000 600000 650000 700000 750000 800000; do
  text=$( (ulimit -v "$kilobytes"; ulimit -c 0
           exec timeout 60 "$program" run --devices 500 --steps 1 --batch-size 1 --quiet) 2>&1)
  status=$?
  case $status in
    0) ;;
    1) case $text in
         *"ringside: error: "*) refused=$((refused + 1)) ;;
         *) echo "$kilobytes kB: no error is told: $text"; failed=1 ;;
       esac ;;
    *) echo "$kilobytes kB: exit status $status: $text"; failed=1 ;;
  esac
done
[ "$refused" -gt 0 ] || { echo "memory was never full"; failed=1; }
exit $failed
