#!/bin/sh
# Runs the services of a VM besides its agent, and restarts each when it ends: rsyslogd behind /dev/log, cron,
# and sshd, whose host keys are made at the first boot, in a folder that survives the container. A key appears
# completely or not at all.
set -u
# bosh-dns adds a name server with `resolvconf -u`, which writes the file behind a link. The pod's own name
# servers and search list become resolvconf's base, so that it keeps them. If /etc/resolv.conf is still the
# runtime's mount (profile baseline), no other file can be put there.
use_resolvconf() {
  [ -x /sbin/resolvconf ] && [ -f /etc/resolv.conf ] && [ ! -L /etc/resolv.conf ] || return 0
  ! mountpoint -q /etc/resolv.conf || return 0
  cp /etc/resolv.conf /etc/resolvconf/resolv.conf.d/base && resolvconf --enable-updates && resolvconf -u 2> /dev/null &&
    ln -s ../run/resolvconf/resolv.conf /etc/resolv.conf.link && mv -fT /etc/resolv.conf.link /etc/resolv.conf
}
use_resolvconf || echo "services: /etc/resolv.conf could not become resolvconf's"
supervise() {
  running=
  trap 'trap "" TERM INT; [ -z "$running" ] || kill -TERM "$running" 2> /dev/null; exit 0' TERM INT
  while :; do
    "$@" &
    running=$!
    wait "$running"
    echo "services: $1 ended with $?"
    sleep 5 &
    running=$!
    wait "$running"
  done
}
supervise /usr/sbin/rsyslogd -n -iNONE &
supervise /usr/sbin/cron -f &
keys=/var/vcap/bosh/ssh
mkdir -p -m 700 "$keys"
mkdir -p -m 755 /run/sshd
for type in ed25519 ecdsa rsa; do
  key=$keys/ssh_host_${type}_key
  [ ! -s "$key" ] || continue
  rm -f "$key.new" "$key.new.pub"
  ssh-keygen -q -t "$type" -N '' -C '' -f "$key.new" || { echo "services: no $type host key could be made"; continue; }
  mv "$key.new.pub" "$key.pub"
  mv "$key.new" "$key"
done
# Upstream's agent reads the key that the bosh CLI expects from there (bosh-agent: platform/linux_platform.go,
# GetHostPublicKey)
[ ! -s "$keys/ssh_host_rsa_key" ] || ln -sf "$keys/ssh_host_rsa_key" "$keys/ssh_host_rsa_key.pub" /etc/ssh/
supervise /usr/sbin/sshd -D -e
