/** What a script of a published release runs on the VM itself, outside of bpm. */
export interface ReleaseCommand {
  /** The job, and its script. */
  readonly caller: string;
  /** A script for sh. It ends with 0 if what the job needs has happened. */
  readonly script: string;
  /** True if the profile sys-admin refuses it (docs/stemcells.md). */
  readonly needsPrivileged?: boolean;
}

const director: readonly ReleaseCommand[] = [
  {
    caller: 'bpm: pre-start',
    script: "echo 'export A=1' > /etc/profile.d/bpm.sh && bash -lc '[ \"$A\" = 1 ]'",
  },
  { caller: 'bpm: pre-start', script: "perl -MPOSIX -e 'POSIX::getpid() or die'" },
  {
    caller: 'nats: pre-start',
    script: `sysctl -w net.ipv4.neigh.default.gc_thresh1=1024 || true
      echo net.ipv4.neigh.default.gc_thresh1=1024 > /etc/sysctl.d/100-bosh-nats.conf`,
  },
  {
    caller: 'nats: pre-start',
    script: `cd "$(mktemp -d)" && openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout key -out pem \
      -subj '/O=Cloud Foundry/CN=director' 2> /dev/null && [ "$(openssl x509 -subject -noout -in pem | cut -c 9-)" = 'O = Cloud Foundry, CN = director' ]`,
  },
  { caller: 'postgres: pre-start', script: 'sysctl -w kernel.shmmax=67108864', needsPrivileged: true },
  { caller: 'postgres: pre-start', script: '[ "$(su - vcap -c "id -un")" = vcap ]' },
  {
    caller: 'postgres: pre-start',
    script: "dpkg-query --show --showformat '${Version}' libc6 | egrep '^2[.]'",
  },
  {
    caller: 'postgres: start',
    script: `LC_ALL=en_US.UTF-8 perl -MPOSIX -e 'setlocale(LC_MESSAGES, "") eq "en_US.UTF-8" or die'`,
  },
  { caller: 'director: pre-start', script: "echo '0 * * * * true' | crontab - && crontab -l" },
  {
    caller: 'director: worker_ctl',
    script: '[ "$(setpriv --reuid vcap --regid vcap --clear-groups id -un)" = vcap ]',
  },
  { caller: 'director: worker_ctl', script: '[ "$(ps --no-headers -o pid -p $$)" -eq $$ ]' },
  { caller: 'director: post-start', script: 'timeout 5 curl --version' },
  {
    caller: 'user_add: pre-start',
    script: `useradd --create-home --shell /bin/bash admin1 && usermod -G vcap,admin,bosh_sudoers,bosh_sshers admin1 &&
      passwd -d admin1 && passwd -l admin1 && sudo -l -U admin1 | grep NOPASSWD`,
  },
];

const boshDns: readonly ReleaseCommand[] = [
  { caller: 'bosh-dns: pre-start', script: 'ip address add 169.254.0.2/32 dev lo', needsPrivileged: true },
  {
    caller: 'bosh-dns: pre-start',
    script: `cp /usr/bin/perl /var/vcap/data/dns && setcap cap_net_bind_service=+ep /var/vcap/data/dns &&
      sysctl -n net.ipv4.ip_unprivileged_port_start && setpriv --reuid vcap --regid vcap --clear-groups /var/vcap/data/dns \
      -MIO::Socket::INET -e 'IO::Socket::INET->new(Proto => "udp", LocalAddr => "127.0.0.1:53") or die $!'`,
  },
  {
    caller: 'bosh-dns: bosh-dns-nameserverconfig',
    script: `echo nameserver 169.254.0.2 > /etc/resolvconf/resolv.conf.d/head && resolvconf -u &&
      [ "$(cat /etc/resolv.conf)" = "$(printf 'nameserver 169.254.0.2\\nnameserver 10.96.0.10\\nsearch bosh.svc.cluster.local\\noptions ndots:5')" ]`,
  },
];

const cloudFoundry: readonly ReleaseCommand[] = [
  {
    caller: 'syslog_forwarder: pre-start',
    script: `set -e; install -d -o syslog -g adm /var/vcap/data/buffered; chpst -u syslog:vcap touch /var/vcap/data/buffered/a
      echo '*.* /var/log/forwarded' > /etc/rsyslog.d/20-forwarded.conf; rsyslogd -N1; service rsyslog restart
      cd /usr/lib/*/rsyslog && ls lmnsd_gtls.so lmnsd_ossl.so omrelp.so`,
  },
  { caller: 'cloud_controller_ng: pre-start', script: '[ "$(chpst -u vcap:vcap id -un)" = vcap ]' },
  {
    caller: 'uaa: pre-start',
    script: `bash -euc 'OS_CERTS_FILE=/etc/ssl/certs/release.crt; source /etc/os-release; [ "$ID" = ubuntu ]
      update-ca-certificates --fresh --certbundle release.crt && grep -q CERTIFICATE "$OS_CERTS_FILE"'`,
  },
  { caller: 'another shell', script: 'set -eu; . /etc/os-release; [ "$ID" = debian ]' },
  { caller: 'a strict parser of os-release', script: "! grep -vE '^[A-Z_]+=|^#' /etc/os-release" },
  {
    caller: 'an upgrade of Debian',
    script: '[ "$(dpkg-divert --truename /etc/os-release)" != /etc/os-release ]',
  },
  {
    caller: 'runc of garden-runc: packaging',
    script: `bash -euc '. /etc/lsb-release; [ "$DISTRIB_ID $DISTRIB_RELEASE $DISTRIB_CODENAME" = "Debian 12 bookworm" ]'`,
  },
  { caller: 'nfs_mounter: pre-start', script: '[ "$(lsb_release -cs)" = bookworm ]' },
  {
    caller: 'syslog_forwarder, after its pre-start',
    script: `for second in $(seq 60); do logger forwarded && grep -q forwarded /var/log/forwarded && exit; sleep 1; done; exit 1`,
  },
];

/** Garden's own needs, with the programs of the stemcell in place of those that it brings. */
const garden: readonly ReleaseCommand[] = [
  {
    caller: 'garden: overlay-xfs-setup',
    script: `truncate -s 1M /var/vcap/data/loop && device=$(losetup --find --show /var/vcap/data/loop) &&
      losetup --detach "$device"`,
    needsPrivileged: true,
  },
  {
    caller: 'garden: a container of an app',
    script: 'unshare --user --map-root-user --pid --fork --mount-proc true',
    needsPrivileged: true,
  },
  {
    caller: 'garden: the network of an app',
    script: 'ip link add w-app-0 type veth peer name w-app-1 && ip link delete w-app-0',
    needsPrivileged: true,
  },
];

/** Programs of which only the presence is tested. */
const programs = [
  ...['host', 'dig', 'nc', 'ping', 'rsync', 'zip', 'unzip', 'bzip2', 'xz', 'file', 'killall', 'ethtool'],
  ...['modprobe', 'mkfs.xfs', 'xfs_quota', 'logger', 'getcap', 'logrotate', 'localedef', 'wget', 'cpio'],
  ...['uuidgen', 'ifconfig', 'netstat', 'envsubst'],
];

/**
 * The commands of a director's jobs, bosh-dns and Garden (bosh, nats, postgres, bpm-release, os-conf-release,
 * bosh-dns-release, garden-runc-release: jobs/*\/templates), the programs of other published releases, and
 * commands of Cloud Foundry's jobs on which a start depends.
 */
export const releaseCommands: readonly ReleaseCommand[] = [
  ...director,
  ...boshDns,
  ...garden,
  ...programs.map((name) => ({ caller: name, script: `command -v ${name}` })),
  ...cloudFoundry,
];
