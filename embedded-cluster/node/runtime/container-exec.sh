#!/bin/sh
# Runs one more command in a container. $1 working directory; fd 5: arguments of env(1) as in
# container-init.sh. fd 4: receives the exit code; without such a line the command was killed.
set -u
directory=$1
# A pod with the necessary rights may have hidden its /proc.
if [ -r /proc/self/fd/5 ]; then . /proc/self/fd/5; else eval "$(cat <&5)"; fi
exec 3>&- 5>&-
cd "$directory" || exit 126
setpriv --pdeathsig KILL -- /usr/bin/env -i -- "$@" 4>&-
code=$?
echo "exit $code" >&4
exit "$code"
