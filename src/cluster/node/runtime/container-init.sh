#!/bin/sh
# First process of a container: starts the command, hands signals on, reaps orphans, ends as the command ends.
#   $1 working directory
# fd 5: arguments of env(1), one a line: `raw<TAB>text` or, with newlines and backslashes escaped,
#       `escaped<TAB>text`. fd 4: told when the command is started and how it ended. fd 6: the container's stderr.
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

if ! cd "$directory" 2>/dev/null; then
  mkdir -p -- "$directory" && cd "$directory" || {
    echo "working directory $directory: cannot be entered" >&2
    exit 128
  }
fi

child=
forward() {
  [ -z "$child" ] || kill -s "$1" "$child" 2>/dev/null
}
for signal in TERM INT HUP QUIT USR1 USR2; do
  trap "forward $signal" "$signal"
done

# A shell lets its background commands ignore INT and QUIT; env(1) undoes that.
/usr/bin/env -i --default-signal=INT,QUIT -- "$@" </dev/null 2>&6 3>&- 4>&- 5>&- 6>&- &
child=$!
echo started >&4
exec 3>&- 5>&- 6>&-

# wait(1) returns early for a trapped signal; the command is done when it can no longer be signalled.
while :; do
  wait "$child"
  code=$?
  kill -0 "$child" 2>/dev/null || break
done
# Whoever reads no such line knows that this process was killed: unshare(1) does not hand SIGKILL on.
echo "exit $code" >&4
exit "$code"
