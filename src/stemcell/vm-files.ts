import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { type ArchiveEntry, compareBytes } from '../bosh/archive/pack-archive.ts';
import { type Profile, profileSettings } from './build-settings.ts';

export interface VmFilesRequest {
  readonly profile: Profile;
  readonly version: string;
  readonly operatingSystem: string;
  /** Path of the agent's executable, which is copied unchanged. */
  readonly agent: string;
  /** Path of the licences and notices of the embedded agent's components. */
  readonly notice?: string | undefined;
  /** Path of monit's executable, with which an upstream agent runs jobs. */
  readonly monit?: string | undefined;
  /**
   * Path of bosh-davcli's executable, with which an upstream agent reads and writes a director's blobstore.
   */
  readonly davcli?: string | undefined;
  /** True if the agent is the embedded one, which responds to the command `monit` itself. */
  readonly isOwnAgent: boolean;
}

const home = 'usr/lib/bosh-kubernetes';
const bosh = 'var/vcap/bosh';
const documents = 'usr/share/doc/bosh-kubernetes';
const directories = [
  ...[`${home}/`, 'var/vcap/', `${bosh}/`, `${bosh}/bin/`, `${bosh}/etc/`, 'var/vcap/monit/'],
  ...['var/vcap/jobs/', 'var/vcap/packages/', 'var/vcap/instance/', 'var/vcap/data/', 'var/vcap/store/'],
  'warden-cpi-dev/',
];

/**
 * Returns the files of a VM beside its operating system, as entries for a tar over the root: sorted, owned by
 * root. The agent is outside of /var/vcap/bosh, because that directory is copied for each VM.
 */
export async function vmFiles(request: VmFilesRequest): Promise<readonly ArchiveEntry[]> {
  const { profile, agent, notice, monit, davcli, isOwnAgent } = request;
  const entries: ArchiveEntry[] = [
    ...directories.map((name): ArchiveEntry => ({ kind: 'directory', name, mode: 0o755 })),
    ...(await program('bosh-agent', agent)),
    text(`${home}/init`, await asset('init.sh'), 0o755),
    text(`${home}/services`, await asset('services.sh'), 0o755),
    text('etc/cron.hourly/logrotate', await asset('rotate-logs.sh'), 0o755),
    text('etc/init.d/rsyslog', await asset('rsyslog-service.sh'), 0o755),
    text('etc/logrotate.d/rsyslog', await asset('rsyslog-logrotate.conf')),
    // An upstream agent writes this file. The target survives the container, as that of our agent.
    link('etc/logrotate.d/vcap', `/${bosh}/etc/logrotate`),
    // The license of this product's files in the image.
    text(`${documents}/LICENSE`, await readFile(join(import.meta.dirname, '..', '..', 'LICENSE'), 'utf8')),
    text('etc/rsyslog.conf', await asset('rsyslog.conf')),
    text('etc/ssh/sshd_config.d/bosh-kubernetes.conf', await asset('sshd.conf')),
    text('etc/sudoers.d/bosh_sudoers', '%bosh_sudoers ALL=(ALL) NOPASSWD: ALL\n', 0o440),
    text(`${bosh}/agent.json`, agentConfiguration(profile)),
    text(`${bosh}/etc/stemcell_version`, request.version),
    text(`${bosh}/etc/operating_system`, request.operatingSystem),
    ...hooks.map(([name, lines]) => text(`${bosh}/bin/${name}`, `#!/bin/sh\n${lines}\n`, 0o755)),
    text(`${bosh}/etc/monitrc`, await asset('monitrc'), 0o600),
  ];
  if (notice !== undefined) entries.push(text(`${documents}/NOTICE`, await readFile(notice, 'utf8')));
  // The agent looks for this name in its PATH.
  if (davcli !== undefined) entries.push(...(await program('bosh-blobstore-dav', davcli)));
  if (monit !== undefined) entries.push(...(await program('monit', monit)));
  else if (isOwnAgent) entries.push(text(`${bosh}/bin/monit`, monitCommand, 0o755));
  return entries.toSorted((a, b) => compareBytes(a.name, b.name));
}

const monitCommand = `#!/bin/sh
exec /${home}/bosh-agent monit /var/vcap/monit/control.sock "$@"
`;

/**
 * Programs that an upstream agent runs. In a container they have little to do (stock warden stemcells have
 * similar ones).
 */
const hooks: readonly (readonly [string, string])[] = [
  ['bosh-agent-rc', '# there is nothing to set up before the agent'],
  [
    'bosh-start-logging-and-auditing',
    '# the node audits; the agent has just mounted over /var/log\npkill -HUP -x rsyslogd || :',
  ],
  ['restart_networking', '# the network is preconfigured'],
  ['sync-time', '# the node keeps the time'],
];

/**
 * Returns the settings of stock stemcells for containers (bosh-linux-stemcell-builder: stages/base_warden),
 * and those of the profile.
 */
function agentConfiguration(profile: Profile): string {
  const linux = {
    UseDefaultTmpDir: true,
    UsePreformattedPersistentDisk: true,
    BindMountPersistentDisk: true,
    SkipDiskSetup: true,
    // With the other service manager, the agent would replace resolv.conf, which is not possible in a pod.
    ServiceManager: 'systemd',
    ...profileSettings(profile).linux,
  };
  const source = { Type: 'File', SettingsPath: '/var/vcap/bosh/warden-cpi-agent-env.json' };
  const configuration = {
    Platform: { Linux: linux },
    Infrastructure: { Settings: { Sources: [source] } },
  };
  return `${JSON.stringify(configuration, undefined, 2)}\n`;
}

/** Returns a file that is copied unchanged, and the link to it in the agent's PATH. */
async function program(name: string, path: string): Promise<ArchiveEntry[]> {
  return [
    { kind: 'file', name: `${home}/${name}`, mode: 0o755, path, size: (await stat(path)).size },
    link(`${bosh}/bin/${name}`, `/${home}/${name}`),
  ];
}

const text = (name: string, content: string, mode = 0o644): ArchiveEntry => ({
  kind: 'content',
  name,
  mode,
  content,
});

const link = (name: string, target: string): ArchiveEntry => ({
  kind: 'symlink',
  name,
  mode: 0o777,
  target,
});

const asset = (name: string): Promise<string> => readFile(join(import.meta.dirname, 'root', name), 'utf8');
