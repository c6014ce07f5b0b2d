# Runs a command with separate accounts, in its own mount namespace. /etc/passwd and the other files that
# useradd writes are those of a VM with a host key, and the machine's files stay unchanged.
set -eu
etc=$(mktemp -d)
mount -t tmpfs none "$etc"
mkdir -p "$etc/ssh" "$etc/pam.d"
for name in login.defs nsswitch.conf hosts resolv.conf ssl pam.d ld.so.cache alternatives security; do
  [ ! -e "/etc/$name" ] || cp -a "/etc/$name" "$etc/"
done
cat > "$etc/passwd" << 'END'
root:x:0:0:root:/root:/bin/bash
sshd:x:100:65534::/run/sshd:/usr/sbin/nologin
vcap:x:1000:1000::/home/vcap:/bin/bash
bosh_admin:x:1001:1000:a user of os-conf:/home/bosh_admin:/bin/bash
nobody:x:65534:65534::/nonexistent:/usr/sbin/nologin
END
printf '%s\n' root:x:0: vcap:x:1000: admin:x:999: bosh_sudoers:x:996: bosh_sshers:x:997:vcap nogroup:x:65534: > "$etc/group"
for name in root sshd vcap bosh_admin nobody; do echo "$name:*:1::::::"; done > "$etc/shadow"
: > "$etc/gshadow"
ssh-keygen -q -t rsa -b 2048 -N '' -C '' -f "$etc/ssh/ssh_host_rsa_key"
mount --bind "$etc" /etc
exec "$@"
