#!/bin/sh
# First process of a container, until it becomes the command. As everywhere on Kubernetes, the command is the
# container's first process, which receives its signals and reaps its orphans.
#   $1 working directory
# fd 5: a script that sets the arguments of env(1) (command-file.ts). fd 4: receives a line when the command
# starts. fd 6: the container's stderr.
set -u
directory=$1
# A pod with the necessary rights may have hidden its /proc.
if [ -r /proc/self/fd/5 ]; then . /proc/self/fd/5; else eval "$(cat <&5)"; fi

if ! cd "$directory" 2>/dev/null; then
  mkdir -p -- "$directory" && cd "$directory" || {
    echo "working directory $directory: cannot be entered" >&2
    exit 128
  }
fi

echo started >&4
exec /usr/bin/env -i -- "$@" </dev/null 2>&6 3>&- 4>&- 5>&- 6>&-
