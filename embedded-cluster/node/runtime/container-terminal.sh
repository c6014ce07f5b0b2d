#!/bin/sh
# Runs in the terminal that script(1) made: writes its name, then becomes the command.
#   $TERMINAL_NAME file for the terminal's path   $TERMINAL_ARGUMENTS number of arguments
#   $TERMINAL_ARGUMENT_<n> each argument
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
