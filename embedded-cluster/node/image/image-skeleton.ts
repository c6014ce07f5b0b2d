import { passwdEntries } from './image-accounts.ts';
import { loginFiles } from './image-login.ts';

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

/** The part of the skeleton that is the same on every machine. */
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
