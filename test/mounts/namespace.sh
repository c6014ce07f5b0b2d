#!/bin/sh
# PID 1 of the suite's namespaces: runs servers of NFS and SMB on a tap device, and a User-Mode-Linux guest at
# its other end. Arguments: the scratch folder, the Node for the guest, and this folder. The guest's serial
# line is on descriptors 3 and 4.
set -eu
scratch=$1 node=$2 here=$3
ip link set lo up
ip tuntap add tap0 mode tap
ip address add 192.168.77.1/24 dev tap0
ip link set tap0 up
mount -t tmpfs -o mode=755 tmpfs /run
mkdir -p /run/ganesha /run/samba
mount --bind "$scratch/nfs-state" /var/lib/nfs
mount --bind "$scratch/passwd" /etc/passwd
rpcbind
smbpasswd -c "$scratch/smb.conf" -a -s share < "$scratch/password" > /dev/null
ganesha.nfsd -F -L "$scratch/ganesha.log" -f "$scratch/ganesha.conf" -p /run/ganesha/pid -N NIV_EVENT 3<&- 4>&- &
smbd --foreground --no-process-group --configfile="$scratch/smb.conf" 3<&- 4>&- > "$scratch/smbd.log" 2>&1 < /dev/null &
export TMPDIR=/run
# uml-xstate.c gives the reason.
if [ -e "$scratch/xstate.so" ]; then export LD_PRELOAD="$scratch/xstate.so"; fi
linux.uml mem=384M uml_dir=/run/ rootfstype=hostfs rootflags=/ ro "init=$here/guest-init.sh" \
  con=null con0=null,fd:1 ssl0=fd:3,fd:4 ssl=null vec0:transport=tap,ifname=tap0 \
  "GUEST_NODE=$node" "GUEST_FOLDER=$here"
