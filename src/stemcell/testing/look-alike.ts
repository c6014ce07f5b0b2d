import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { packTar } from 'modern-tar';
import { packArchive } from '../../bosh/archive/pack-archive.ts';

type Entries = Parameters<typeof packTar>[0];

/** The agent.json of stock stemcells for containers (bosh-linux-stemcell-builder: stages/base_warden). */
const agentJson = JSON.stringify({
  Platform: {
    Linux: {
      UseDefaultTmpDir: true,
      UsePreformattedPersistentDisk: true,
      BindMountPersistentDisk: true,
      SkipDiskSetup: true,
    },
  },
  Infrastructure: {
    Settings: { Sources: [{ Type: 'File', SettingsPath: '/var/vcap/bosh/warden-cpi-agent-env.json' }] },
  },
});

const file = (name: string, body: string, mode = 0o644): Entries[number] => ({
  header: { name, size: Buffer.byteLength(body), mode },
  body,
});
const directoryEntry = (name: string): Entries[number] => ({
  header: { name, type: 'directory', size: 0, mode: 0o755 },
});
const link = (name: string, linkname: string): Entries[number] => ({
  header: { name, type: 'symlink', size: 0, linkname },
});

/** Returns the file with which an operating system names itself, for sampleBoshRoot. */
export const osReleaseEntries = (distribution: string, codeName: string): Entries => [
  link('./etc/os-release', '../usr/lib/os-release'),
  file('./usr/lib/os-release', `ID=${distribution}\nVERSION_CODENAME=${codeName}\n`),
];

/**
 * Returns a root that looks like that of a stock stemcell: systemd as PID 1, the agent's paths. Nothing in it
 * runs.
 */
export async function sampleBoshRoot(...more: Entries): Promise<Buffer> {
  const entries: Entries = [
    directoryEntry('./'),
    link('./bin', 'usr/bin'),
    link('./sbin', 'usr/sbin'),
    directoryEntry('./usr/bin/'),
    file('./usr/bin/sh', '#!', 0o755),
    file('./usr/lib/systemd/systemd', 'elf', 0o755),
    link('./usr/sbin/init', '../lib/systemd/systemd'),
    directoryEntry('./warden-cpi-dev/'),
    file('./var/vcap/bosh/bin/bosh-agent', 'elf', 0o755),
    file('./var/vcap/bosh/agent.json', agentJson),
    file(
      './etc/systemd/system/bosh-agent.service',
      '[Service]\nExecStart=/var/vcap/bosh/bin/bosh-agent -P ubuntu\n',
    ),
    ...more,
  ];
  // All entries have the same time: otherwise two tars that are made in different seconds would differ.
  const dated = entries.map((entry) => ({ ...entry, header: { ...entry.header, mtime: new Date(0) } }));
  return Buffer.from(await packTar(dated));
}

export interface LookAlike {
  readonly image?: Buffer;
  /** The text of stemcell.MF, in place of the correct one. */
  readonly manifest?: string;
  readonly digest?: string;
  /** The names of the archive's files, in this order. */
  readonly order?: readonly ('stemcell.MF' | 'image' | 'packages.txt' | 'apply_spec.yml')[];
  readonly isPlain?: boolean;
}

/** Writes a heavy stemcell archive as upstream makes it. Returns its path. */
export async function lookAlikeStemcell(
  directory: string,
  {
    image,
    manifest,
    digest,
    order = ['image', 'packages.txt', 'stemcell.MF'],
    isPlain = false,
  }: LookAlike = {},
): Promise<string> {
  const root = image ?? gzipSync(await sampleBoshRoot());
  const sha1 = digest ?? createHash('sha1').update(root).digest('hex');
  const content = {
    'stemcell.MF':
      manifest ??
      `name: bosh-warden-boshlite-ubuntu-noble\nversion: '1.10'\napi_version: 3\nbosh_protocol: '1'\nsha1: ${sha1}\noperating_system: ubuntu-noble\nstemcell_formats: [warden-tar]\ncloud_properties: {infrastructure: warden}\n`,
    image: root,
    'packages.txt': 'many',
    'apply_spec.yml': '{}',
  };
  const path = join(directory, 'bosh-stemcell-1.10-warden-boshlite-ubuntu-noble.tgz');
  const entries = order.map((name) => ({
    kind: 'content' as const,
    name,
    mode: 0o644,
    content: content[name],
  }));
  await packArchive(entries, path, { compression: isPlain ? 'none' : 'gzip' });
  return path;
}
