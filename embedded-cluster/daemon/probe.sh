#!/bin/sh
# Tries the operations that the cluster and its pods need. Runs in the namespaces that the cluster would have.
# $1 an empty directory. Prints the failed operation.
set -eu
mount -t proc -o nosuid,nodev,noexec proc /proc
mount -t tmpfs tmpfs "$1"
mkdir "$1/a" "$1/b"
mount --bind "$1/a" "$1/b"
mount -t devpts -o nosuid,noexec,newinstance,ptmxmode=0666 devpts "$1/a"
# A container: pid and mount namespaces with their own /proc, and a user namespace without rights here.
unshare --mount --pid --uts --ipc --fork --kill-child mount -t proc -o nosuid,nodev,noexec proc "$1/b"
unshare --user --keep-caps true
