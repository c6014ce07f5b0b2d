#!/bin/sh
# Waits in a new user namespace until its ids are mapped ($1, a pipe), then becomes the cluster: only a program that
# is started by a mapped root has root's rights there.
set -eu
read -r _ <"$1"
shift
exec "$@"
