#!/bin/sh
# mmdebstrap runs this when the packages are installed; $1 is the root. Makes the accounts of a BOSH VM,
# removes content that differs between runs or belongs to the build machine, and writes the package list to
# $BOSH_KUBERNETES_PACKAGES.
set -eu
root=$1

# syslog: the upstream agent gives the folder of logs to this group, and does not start without it.
for group in bosh_sshers bosh_sudoers admin syslog; do
  chroot "$root" groupadd --system "$group"
done
chroot "$root" groupadd --gid 1000 vcap
chroot "$root" useradd --uid 1000 --gid vcap --create-home --shell /bin/bash --comment 'BOSH System User' \
  --groups admin,adm,audio,cdrom,dialout,floppy,video,bosh_sshers,dip,plugdev vcap
# Jobs that forward logs run as the user syslog of Ubuntu. It is not in its group, which may write in /var/log.
chroot "$root" useradd --system --gid nogroup --no-create-home --home-dir /nonexistent --shell /usr/sbin/nologin syslog
# The date of a password would be the day of the build. The account has no password.
sed -i -E 's/^((vcap|syslog):[^:]*:)[0-9]*:/\119000:/' "$root/etc/shadow"
rm -f "$root/etc/passwd-" "$root/etc/shadow-" "$root/etc/group-" "$root/etc/gshadow-" \
  "$root/etc/subuid-" "$root/etc/subgid-"

# A VM makes its own keys and ids at its first boot.
rm -f "$root"/etc/ssh/ssh_host_*
: > "$root/etc/machine-id"
rm -f "$root/var/lib/dbus/machine-id"

# These files are those of the build machine; a pod gets its own. The package resolvconf keeps copies of the
# first.
rm -rf "$root/etc/resolv.conf" "$root/etc/hostname" "$root/etc/resolvconf/resolv.conf.d/original" "$root/run/resolvconf"

# Setting the login uid needs a capability that only the profile privileged gives.
for service in sshd cron; do
  sed -i -E 's/^(session[[:space:]]+)required([[:space:]]+pam_loginuid\.so)/\1optional\2/' "$root/etc/pam.d/$service"
done

# Without the archive, which contains padding, equal builds give equal bytes.
chroot "$root" localedef --no-archive --inputfile=en_US --charmap=UTF-8 en_US.UTF-8
echo LANG=en_US.UTF-8 > "$root/etc/default/locale"

# Packaging scripts of releases read this file, which Debian does not have.
cat > "$root/etc/lsb-release" << END
DISTRIB_ID=$(chroot "$root" lsb_release --short --id)
DISTRIB_RELEASE=$(chroot "$root" lsb_release --short --release)
DISTRIB_CODENAME=$(chroot "$root" lsb_release --short --codename)
DISTRIB_DESCRIPTION="$(chroot "$root" lsb_release --short --description)"
END

# The file is Debian's link to /usr/lib/os-release. With the diversion an upgrade of Debian's package does not
# restore the link.
chroot "$root" dpkg-divert --quiet --local --no-rename --add /etc/os-release
rm "$root/etc/os-release"
cat "$root/usr/lib/os-release" - > "$root/etc/os-release" << 'END'
# uaa's pre-start script, which sets OS_CERTS_FILE, reads this file by a shell and fails on a system that is
# neither Ubuntu nor SUSE, although its commands for Ubuntu work here. Every other reader sees the ID above.
# The line begins as an assignment, because some parsers reject a file with other lines.
BOSH_KUBERNETES_UAA=ubuntu eval ${OS_CERTS_FILE:+ID=ubuntu}
END

# /etc/cron.hourly/logrotate of the VM replaces this (src/stemcell/root/rotate-logs.sh). It rotates the logs
# of jobs itself, and logrotate must not: the file in which an agent names them is a configuration that makes
# root follow links of job users.
rm -f "$root/etc/cron.daily/logrotate"
# A VM is not updated by apt, and in a privileged container this would check the file systems of the node.
rm -f "$root/etc/cron.daily/apt-compat" "$root/etc/cron.d/e2scrub_all"
sed -i '1i taboopat + vcap' "$root/etc/logrotate.conf"

rm -f "$root/var/cache/ldconfig/aux-cache" "$root/var/log/faillog" "$root/var/log/lastlog"
find "$root/var/log" -type f -delete
# mmdebstrap empties /tmp itself: until the end it contains the configuration that keeps its apt-get inside
# the root.
find "$root/var/tmp" -mindepth 1 -delete

# shellcheck disable=SC2016 # dpkg-query's own variables
chroot "$root" dpkg-query --show --showformat '${Package} ${Version} ${Architecture}\n' |
  LC_ALL=C sort > "$BOSH_KUBERNETES_PACKAGES"
