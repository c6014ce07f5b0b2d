#!/bin/sh
# Copies the content of a volume. Runs in its own mount namespace and gives cp(1) a root that contains only
# the volume, the copy and the node's programs, because cp uses names and root of a VM may replace a folder
# with a link at any moment.
#   $1 volume   $2 empty directory for the copy
set -eu

# /sys exists everywhere, and no folder that is needed is below it.
root=/sys
mount -t tmpfs -o nosuid,nodev,mode=0700 copy "$root"
mkdir "$root/from" "$root/to" "$root/etc"
mount --rbind -- "$1" "$root/from"
mount --rbind -- "$2" "$root/to"
for folder in /usr /bin /sbin /lib /lib32 /lib64 /libx32; do
  if [ -L "$folder" ]; then
    cp -P "$folder" "$root/"
  elif [ -d "$folder" ]; then
    mkdir "$root$folder"
    mount --rbind "$folder" "$root$folder"
  fi
done
[ ! -f /etc/ld.so.cache ] || cp /etc/ld.so.cache "$root/etc/"
exec chroot "$root" cp -a -x --reflink=auto -- /from/. /to
