#!/bin/sh
# Runs in the terminal that script(1) made: says which one it is, then becomes the command.
#   $TERMINAL_NAME file for the terminal's path   $TERMINAL_ARGUMENTS how many   $TERMINAL_ARGUMENT_<n> each
set -u
tty >"$TERMINAL_NAME"
n=0
while [ "$n" -lt "$TERMINAL_ARGUMENTS" ]; do
  eval "set -- \"\$@\" \"\$TERMINAL_ARGUMENT_$n\""
  unset "TERMINAL_ARGUMENT_$n"
  n=$((n + 1))
done
unset TERMINAL_NAME TERMINAL_ARGUMENTS n SHELL
exec "$@"
