#!/bin/sh
# Runs one more command in a container. $1 working directory; fd 5: arguments of env(1) as in container-init.sh.
# fd 4: told how it ended; no such line means that it was killed.
set -u
directory=$1
shift
tab=$(printf '\t')
while IFS= read -r line <&5; do
  text=${line#*"$tab"}
  if [ "${line%%"$tab"*}" = escaped ]; then
    text=$(printf '%bx' "$text")
    text=${text%x}
  fi
  set -- "$@" "$text"
done
exec 3>&- 5>&-
cd "$directory" || exit 126
setpriv --pdeathsig KILL -- /usr/bin/env -i -- "$@" 4>&-
code=$?
echo "exit $code" >&4
exit "$code"
