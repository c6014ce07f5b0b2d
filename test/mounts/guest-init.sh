#!/bin/sh
# PID 1 of the guest, whose root is that of the host, read-only.
set -eu
export PATH=/usr/sbin:/usr/bin:/sbin:/bin
mount -t proc proc /proc
mount -t sysfs sysfs /sys
ln -s /proc/self/fd /dev/fd
mount -t tmpfs -o mode=755 tmpfs /run
mount -t tmpfs -o mode=755 tmpfs /mnt
mount -t tmpfs tmpfs /tmp
mount -t tmpfs tmpfs /var/lib/nfs
mkdir -p /var/lib/nfs/sm /var/lib/nfs/sm.bak /run/modules/lib /run/sendsigs.omit.d
# The kernel loads modules with this program, because the host has no /lib/modules of this kernel.
ln -s /usr/lib/uml/modules /run/modules/lib/modules
printf '#!/bin/sh\nexec /sbin/modprobe -d /run/modules "$@"\n' > /run/modprobe
chmod 755 /run/modprobe
echo /run/modprobe > /proc/sys/kernel/modprobe
/run/modprobe -a nfsv3 nfsv4 cifs fuse
# udev sets the same mode.
chmod 666 /dev/fuse
ip link set lo up
ip address add 192.168.77.2/24 dev vec0
ip link set vec0 up
rpcbind
rpc.statd --no-notify
stty -F /dev/ttyS0 raw -echo
# Without exec, because a shell reaps the children of processes that have ended.
"$GUEST_NODE" "$GUEST_FOLDER/guest-agent.ts" < /dev/ttyS0 > /dev/ttyS0
