# Makes a container that looks to the agent like one of the embedded node: a fresh root, the entry script of
# the VM pod as PID 1, and a /var/vcap that survives it. Arguments: the work folder (state, volume, root,
# entry, agent.cjs, and a shell script `mounts` with further mounts), and node's path.
set -eu
work=$1
node=$2
root=$work/root
mount -t tmpfs none "$root"
mkdir -p "$root/usr" "$root/dev" "$root/proc" "$root/tmp" "$root/etc" "$root/opt" "$root/var/vcap" "$root/warden-cpi-dev"
for name in bin sbin lib lib64; do
  if [ -L "/$name" ]; then
    cp -P "/$name" "$root/$name"
  elif [ -d "/$name" ]; then
    mkdir "$root/$name"
    mount --rbind "/$name" "$root/$name"
  fi
done
mount --rbind /usr "$root/usr"
[ ! -d /etc/alternatives ] || { mkdir "$root/etc/alternatives"; mount --rbind /etc/alternatives "$root/etc/alternatives"; } # awk
mount --rbind /dev "$root/dev"
mount -t proc proc "$root/proc"
mount --bind "$work/state" "$root/var/vcap"
mount -t tmpfs hub "$root/warden-cpi-dev"
mkdir -p "$root/warden-cpi-dev/disks/disk-1"
mount --bind "$work/volume" "$root/warden-cpi-dev/disks/disk-1"
echo 'root:x:0:0:root:/root:/bin/sh' > "$root/etc/passwd"
printf 'root:x:0:\nvcap:x:1000:\n' > "$root/etc/group"
: > "$root/opt/node"
mount --bind "$node" "$root/opt/node"
cp "$work/agent.cjs" "$root/opt/agent.cjs"
[ ! -e "$work/mounts" ] || . "$work/mounts"
exec chroot "$root" /bin/sh -c "$(cat "$work/entry")"
