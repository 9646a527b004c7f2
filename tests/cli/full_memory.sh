#!/bin/sh
# Runs 500 simulated devices in ever more address space; each run must say that memory is full and exit
# with 1, or end well. So must a small run, where the room for matrix products is what is missing first.
# Usage: full_memory.sh PROGRAM
program=$1
failed=0
refused=0
try() {  # kilobytes, devices
  text=$( (ulimit -v "$1"; ulimit -c 0
           exec timeout 60 "$program" run --devices "$2" --steps 1 --batch-size 1 --quiet) 2>&1)
  status=$?
  case $status in
    0) ;;
    1) case $text in
         *"ringside: error: "*) refused=$((refused + 1)) ;;
         *) echo "$1 kB, $2 devices: no error is told: $text"; failed=1 ;;
       esac ;;
    *) echo "$1 kB, $2 devices: exit status $status: $text"; failed=1 ;;
  esac
}
for kilobytes in 550000 600000 600000 600000 650000 700000 750000 800000; do try "$kilobytes" 500; done
for kilobytes in 350000 450000 550000 650000 750000 850000 950000; do try "$kilobytes" 4; done
[ "$refused" -gt 0 ] || { echo "memory was never full"; failed=1; }
exit $failed
