#!/bin/sh
# The services of a VM beside its agent: sshd, started again whenever it ends. Its host keys are made at the first boot,
# where they outlive the container. A key appears whole or not at all.
set -u
keys=/var/vcap/bosh/ssh
running=
trap 'trap "" TERM INT; [ -z "$running" ] || kill -TERM "$running" 2> /dev/null; exit 0' TERM INT
mkdir -p -m 700 "$keys"
mkdir -p -m 755 /run/sshd
for type in ed25519 ecdsa; do
  key=$keys/ssh_host_${type}_key
  [ ! -s "$key" ] || continue
  rm -f "$key.new" "$key.new.pub"
  ssh-keygen -q -t "$type" -N '' -C '' -f "$key.new" || { echo "services: no $type host key could be made"; continue; }
  mv "$key.new.pub" "$key.pub"
  mv "$key.new" "$key"
done
while :; do
  /usr/sbin/sshd -D -e &
  running=$!
  wait "$running"
  echo "services: sshd ended with $?"
  sleep 5 &
  running=$!
  wait "$running"
done
