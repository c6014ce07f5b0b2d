#!/bin/sh
# Runs the services of a VM besides its agent, and restarts each when it ends: rsyslogd behind /dev/log, and sshd, whose host
# keys are made at the first boot, in a folder that survives the container. A key appears completely or not at all.
set -u
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
# Upstream's agent reads the key that the bosh CLI expects from there (bosh-agent: platform/linux_platform.go, GetHostPublicKey)
[ ! -s "$keys/ssh_host_rsa_key" ] || ln -sf "$keys/ssh_host_rsa_key" "$keys/ssh_host_rsa_key.pub" /etc/ssh/
supervise /usr/sbin/sshd -D -e
