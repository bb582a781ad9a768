#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# usage: failure.sh MPIRUN PROGRAM: rank 1 of 4 is killed, stopped, raises, returns or falls silent; the others
# must end with a sentence that names it, and mpirun with a non-zero status. That takes seconds, which are
# printed; what is a fault is a hang.
mpirun=$1 program=$2 faults=0 chain="(waited for rank [0-9] in [a-z]+: it has given up \\()?"

fault() { echo "$*"; faults=$((faults + 1)); }

# run OPTION HOW WHERE: sets text, status; 124: the watchdog.
run() {
  local start=$SECONDS
  # shellcheck disable=SC2086
  text=$(timeout --kill-after=2 300 "$mpirun" $1 -n 4 "$program" "$2" "$3" 2>&1 </dev/null)
  status=$?
  echo "$2 in $3: $((SECONDS - start)) s, status $status"
  if [ $status = 124 ]; then fault "$2 in $3: a hang"; echo "$text"; fi
}

# try HOW WHERE SENTENCE RANKS: each of RANKS must say SENTENCE. mpirun ends all ranks when one has died; told to
# let them go on, it has no status, so it runs twice.
try() {
  local rank
  run --enable-recovery "$1" "$2"
  for rank in $4; do
    if ! grep -Eq "^rank $rank of [0-9] \(mpi\): $chain$3" <<<"$text"; then
      fault "$1 in $2: rank $rank did not say '$3'"
      echo "$text"
    fi
  done
  run "" "$1" "$2"
  if [ $status = 0 ]; then fault "$1 in $2: status 0"; fi
}

for where in exchange alltoall barrier; do
  try kill $where "waited for rank 1 in $where: its process [0-9]+ has ended" "0 2 3"
done
try stop exchange "waited for rank 1 in exchange: its process [0-9]+ is stopped" "0 2 3"
try raise exchange "waited for rank 1 in exchange: its process [0-9]+ has left" "0 2 3"
try return alltoall "waited for rank 1 in alltoall: its process [0-9]+ has left" "0 2 3"
try kill split "waited for rank 1 in split: its process [0-9]+ has ended" "0 2 3"
try silent barrier "waited for rank [0-9] in barrier: nothing came within 3 seconds" "0 2 3"
exit $((faults > 0))
