/**
 * The files of a container's root beside the directories of the host: the contract of the host-root stemcell.
 */
export interface HostRootFiles {
  /** Absolute path -> mode. Parents first. */
  readonly directories: readonly (readonly [path: string, mode: number])[];
  readonly files: readonly (readonly [path: string, content: string, mode: number])[];
  readonly symlinks: readonly (readonly [path: string, target: string])[];
}

const plainDirectories = [
  ['/dev', '/dev/pts', '/dev/shm', '/proc', '/sys', '/mnt', '/media', '/srv', '/opt', '/opt/bosh-kubernetes'],
  [
    '/run',
    '/run/lock',
    '/etc',
    '/etc/bosh-kubernetes',
    '/etc/pam.d',
    '/etc/profile.d',
    '/home',
    '/home/vcap',
    '/warden-cpi-dev',
  ],
  ['/var', '/var/log', '/var/lib', '/var/cache', '/var/spool', '/var/opt', '/var/vcap', '/var/vcap/bosh'],
  ['/var/vcap/bosh/bin', '/var/vcap/bosh/etc', '/var/vcap/monit', '/var/vcap/jobs', '/var/vcap/packages'],
  ['/var/vcap/instance', '/var/vcap/data', '/var/vcap/store'],
].flat();

const agentSettings = {
  Platform: {
    Linux: {
      UseDefaultTmpDir: true,
      SkipDiskSetup: true,
      UsePreformattedPersistentDisk: true,
      BindMountPersistentDisk: true,
    },
  },
  Infrastructure: {
    Settings: {
      Sources: [{ Type: 'File', SettingsPath: '/var/vcap/bosh/warden-cpi-agent-env.json' }],
    },
  },
};

const agentScript = `#!/bin/sh
exec /opt/bosh-kubernetes/node /opt/bosh-kubernetes/agent.cjs "$@"
`;

const monitScript = `#!/bin/sh
exec /opt/bosh-kubernetes/node /opt/bosh-kubernetes/agent.cjs monit /var/vcap/monit/control.sock "$@"
`;

const bpmScript = `#!/bin/sh
exec /opt/bosh-kubernetes/node /opt/bosh-kubernetes/agent.cjs bpm /var/vcap "$@"
`;

const groups = `root:x:0:
daemon:x:1:
tty:x:5:
disk:x:6:
adm:x:4:
sudo:x:27:
utmp:x:43:
bosh_sudoers:x:996:
bosh_sshers:x:997:vcap
syslog:x:998:
vcap:x:1000:
admin:x:999:vcap
nogroup:x:65534:
`;

const nsswitch = `passwd: files
group: files
shadow: files
hosts: files dns
networks: files
protocols: files
services: files
`;

/** The users of every container's root: /etc/passwd of the host-root stemcell. */
export const passwdEntries = `root:x:0:0:root:/root:/bin/bash
daemon:x:1:1:daemon:/usr/sbin:/usr/sbin/nologin
vcap:x:1000:1000:BOSH System User:/home/vcap:/bin/bash
nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin
`;

/** Returns the group of a user of the image; 0 for any other user, as container runtimes do. */
export function primaryGroup(user: number): number {
  const fields = passwdEntries
    .split('\n')
    .map((line) => line.split(':'))
    .find(([, , id]) => id === String(user));
  return Number(fields?.[3] ?? 0);
}

/**
 * The files that the machine's su, sudo and runuser need in a container's root. Root can become any user. Of
 * the other users, only the group of `bosh ssh` can become root, by sudo, as on a stemcell: no user has a
 * password.
 */
export const loginFiles: readonly (readonly [path: string, content: string, mode: number])[] = [
  ...['su', 'su-l', 'runuser', 'runuser-l'].map(
    (name) => [`/etc/pam.d/${name}`, pamRules('auth sufficient pam_rootok.so'), 0o644] as const,
  ),
  ...['sudo', 'sudo-i'].map((name) => [`/etc/pam.d/${name}`, pamRules(), 0o644] as const),
  [
    '/etc/pam.d/other',
    ['auth', 'account', 'password', 'session'].map((type) => `${type} required pam_deny.so\n`).join(''),
    0o644,
  ],
  [
    '/etc/sudoers',
    `Defaults env_reset
Defaults secure_path="/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
root ALL=(ALL:ALL) ALL
%bosh_sudoers ALL=(ALL:ALL) NOPASSWD: ALL
`,
    0o440,
  ],
  [
    '/etc/profile',
    `for file in /etc/profile.d/*.sh; do
  [ ! -r "$file" ] || . "$file"
done
unset file
`,
    0o644,
  ],
];

function pamRules(...first: readonly string[]): string {
  const rules = [
    ...first,
    'auth required pam_deny.so',
    'account required pam_permit.so',
    'password required pam_deny.so',
    'session required pam_permit.so',
  ];
  return rules.map((rule) => `${rule}\n`).join('');
}

/** The files that are the same on every machine. */
export const hostRootFiles: HostRootFiles = {
  directories: [
    ...plainDirectories.map((path) => [path, 0o755] as const),
    ['/root', 0o700],
    ['/tmp', 0o1777],
    ['/var/tmp', 0o1777],
  ],
  files: [
    ['/etc/passwd', passwdEntries, 0o644],
    ['/etc/group', groups, 0o644],
    ['/etc/shadow', 'root:*:1::::::\nvcap:*:1::::::\n', 0o640],
    ['/etc/nsswitch.conf', nsswitch, 0o644],
    ...loginFiles,
    ['/var/vcap/bosh/agent.json', `${JSON.stringify(agentSettings, undefined, 2)}\n`, 0o644],
    ['/var/vcap/bosh/bin/bosh-agent', agentScript, 0o755],
    ['/var/vcap/bosh/bin/monit', monitScript, 0o755],
    ['/var/vcap/bosh/bin/bpm', bpmScript, 0o755],
    ['/var/vcap/bosh/etc/stemcell_version', '1', 0o644],
    ['/var/vcap/bosh/etc/operating_system', 'host-root', 0o644],
  ],
  symlinks: [
    ['/var/run', '/run'],
    ['/var/lock', '/run/lock'],
    ['/dev/fd', '/proc/self/fd'],
    ['/dev/stdin', '/proc/self/fd/0'],
    ['/dev/stdout', '/proc/self/fd/1'],
    ['/dev/stderr', '/proc/self/fd/2'],
    ['/dev/ptmx', 'pts/ptmx'],
    ['/etc/mtab', '/proc/self/mounts'],
  ],
};
