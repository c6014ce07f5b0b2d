/** PID 1 of a stock stemcell: systemd since noble, runit before. */
export const stockInits = ['systemd', 'runit'] as const;
export type StockInit = (typeof stockInits)[number];

interface StockFile {
  readonly mode: number;
  /** A symbolic link has a target, any other file has a text. */
  readonly text?: string;
  readonly target?: string;
}

const run = (program: string): StockFile => ({
  mode: 0o755,
  text: `#!/bin/bash\nset -e\nexport PATH=/var/vcap/bosh/bin:$PATH\n${program}\n`,
});
const text = (content: string, mode = 0o644): StockFile => ({ mode, text: content });
const link = (target: string): StockFile => ({ mode: 0o777, target });

const agentJson = (linux: object): StockFile => {
  const source = { Type: 'File', SettingsPath: '/var/vcap/bosh/warden-cpi-agent-env.json' };
  const known = {
    ...{ UseDefaultTmpDir: true, UsePreformattedPersistentDisk: true },
    ...{ BindMountPersistentDisk: true, SkipDiskSetup: true },
  };
  return text(
    JSON.stringify({
      Platform: { Linux: { ...known, ...linux } },
      Infrastructure: { Settings: { Sources: [source] } },
    }),
  );
};

const agent = 'exec nice -n -15 /var/vcap/bosh/bin/bosh-agent -P ubuntu -C /var/vcap/bosh/agent.json';
const monit = 'exec nice -n -10 /var/vcap/bosh/bin/monit -I -c /var/vcap/bosh/etc/monitrc';

/** Files of the stage bosh_monit. One of them exists only because monit rejects an include without files. */
const monitFiles = {
  '/var/vcap/bosh/etc/monitrc': text(
    `set daemon 10
set logfile /var/vcap/monit/monit.log

set httpd port 2822 and use address 127.0.0.1
  allow cleartext /var/vcap/monit/monit.user

include /var/vcap/monit/*.monitrc
include /var/vcap/monit/job/*.monitrc
`,
    0o700,
  ),
  '/var/vcap/monit/empty.monitrc': text(''),
};

const unit = (description: string, condition: string, program: string): StockFile =>
  text(`[Unit]
Description=${description}
After=network.target
${condition}
[Service]
WorkingDirectory=/var/vcap/bosh
ExecStart=/bin/bash -c 'PATH=/var/vcap/bosh/bin:$PATH ${program}'
Restart=always
KillMode=process

[Install]
WantedBy=multi-user.target
`);

const units = '/etc/systemd/system';
const wantsDirectory = `${units}/multi-user.target.wants`;

/**
 * The files by which a stock stemcell for containers starts its agent (bosh-linux-stemcell-builder:
 * stages/bosh_go_agent, bosh_monit, base_warden, delay_monit_start, base_ubuntu_packages,
 * bosh_systemd_resolved), rewritten by us. Paths are those of the root file system.
 */
export const stockFiles: Readonly<Record<StockInit, Readonly<Record<string, StockFile>>>> = {
  systemd: {
    ...monitFiles,
    '/var/vcap/bosh/agent.json': agentJson({ ServiceManager: 'systemd' }),
    [`${units}/bosh-agent.service`]: unit('BOSH agent', '', agent),
    [`${units}/monit.service`]: unit('Monit', 'ConditionPathExists=/var/vcap/data/sys/run\n', monit),
    [`${units}/host-keys.service`]: text(`[Unit]
Before=ssh.service
[Service]
Type=oneshot
ExecStart=/usr/bin/ssh-keygen -A
`),
    // The address at which containers of jobs reach systemd-resolved.
    '/etc/systemd/resolved.conf.d/container-address.conf': text(
      '[Resolve]\nDNSStubListenerExtra=169.254.0.53\n',
    ),
    [`${units}/container-address.service`]: text(`[Unit]
DefaultDependencies=no
Before=systemd-resolved.service
[Service]
Type=oneshot
ExecStart=/bin/sh -c 'ip address show dev lo | grep -q 169.254.0.53 || ip address add 169.254.0.53 dev lo'
`),
    [`${units}/systemd-resolved.service.requires/container-address.service`]: link(
      '../container-address.service',
    ),
    [`${wantsDirectory}/bosh-agent.service`]: link('../bosh-agent.service'),
    [`${wantsDirectory}/monit.service`]: link('../monit.service'),
    [`${wantsDirectory}/host-keys.service`]: link('../host-keys.service'),
  },
  runit: {
    ...monitFiles,
    '/var/vcap/bosh/agent.json': agentJson({}),
    '/usr/sbin/runsvdir-start': text(
      `#!/bin/sh
if ! mount | grep -q /var/vcap/data/sys/run; then rm -f /etc/service/monit; fi
PATH=/usr/local/bin:/usr/local/sbin:/bin:/sbin:/usr/bin:/usr/sbin
exec env - PATH=$PATH runsvdir -P /etc/service 'log: ....................'
`,
      0o755,
    ),
    // The package resolvconf, which the agent calls if agent.json names no service manager.
    '/etc/resolv.conf': link('../run/resolvconf/resolv.conf'),
    '/etc/resolvconf/resolv.conf.d/base': text(''),
    '/run/resolvconf/enable-updates': text(''),
    '/run/resolvconf/interface/empty': text(''),
    '/run/resolvconf/resolv.conf': text(''),
    '/etc/sv/agent/run': run(`cd /var/vcap/bosh\n${agent}`),
    '/etc/sv/monit/run': run(monit),
    '/etc/sv/ssh/run': run('mkdir -p /run/sshd\nssh-keygen -A\nexec /usr/sbin/sshd -D'),
    '/etc/sv/rsyslog/run': run('exec rsyslogd -n'),
    '/etc/sv/cron/run': run('exec cron -f'),
    ...Object.fromEntries(
      ['agent', 'monit', 'ssh', 'rsyslog', 'cron'].map((name) => [
        `/etc/service/${name}`,
        link(`/etc/sv/${name}`),
      ]),
    ),
  },
};

/** The files that our stemcells have instead, and Debian's own services for runit. */
export const notStock = [
  ...['/usr/lib/bosh-kubernetes/services', '/usr/lib/bosh-kubernetes/init'],
  ...['/etc/ssh/sshd_config.d/bosh-kubernetes.conf', '/etc/service', '/etc/sv'],
];
