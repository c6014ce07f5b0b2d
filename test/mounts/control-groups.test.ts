import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { entryScript } from '../../src/cpi/vm/entry-script.ts';

/** Programs by Debian package. */
const needed: Record<string, string> = { '/usr/bin/linux.uml': 'user-mode-linux', '/usr/sbin/runc': 'runc' };
const hasAmx = /^flags\b.*\bamx_tile\b/mu.test(readFileSync('/proc/cpuinfo', 'utf8'));
if (hasAmx) needed['/usr/bin/gcc'] = 'gcc, on a processor with AMX';
const missing = Object.entries(needed).filter(([path]) => !existsSync(path));
const lacks = `needs Debian's packages ${missing.map(([, name]) => name).join(', ')}`;
const skip = process.geteuid?.() === 0 ? missing.length > 0 && lacks : 'needs root';

const limit = 32 * 1024 * 1024;

/** A container that says where it is and what memory it may have. */
const container = {
  ociVersion: '1.0.2',
  root: { path: '/rootfs' },
  process: {
    user: { uid: 0, gid: 0 },
    cwd: '/',
    args: ['/bin/sh', '-c', 'sed -n s/^0:://p /proc/self/cgroup'],
    env: ['PATH=/usr/sbin:/usr/bin:/sbin:/bin'],
  },
  linux: {
    namespaces: [{ type: 'mount' }],
    resources: { memory: { limit }, pids: { limit: 50 } },
  },
};

/** Starts a container as runc does by itself, as bpm does below its own cgroup, and as Garden does at the root. */
const agent = `#!/bin/sh
own=$(sed -n s/^0:://p /proc/self/cgroup)
echo "agent in $own"
mkdir /rootfs
mount --rbind / /rootfs
for place in '' "$own/bpm-job" /garden/app; do
  sed "s#PLACE#$place#" /var/vcap/config.json > config.json
  echo "container '$place' in $(runc --root /tmp/runc run one 2>&1)"
done
kill -TERM 1
`;

async function filesOf(folder: string): Promise<void> {
  for (const name of ['root', 'volume/store', 'state/bosh/bin', 'state/data'])
    await mkdir(join(folder, name), { recursive: true });
  await writeFile(join(folder, 'state/bosh/bin/bosh-agent'), agent, { mode: 0o755 });
  const config = { ...container, linux: { ...container.linux, cgroupsPath: 'PLACE' } };
  await writeFile(join(folder, 'state/config.json'), JSON.stringify(config));
  await writeFile(join(folder, 'agent.cjs'), '');
  await writeFile(join(folder, 'entry'), entryScript);
  const mounts =
    'mkdir "$root/sys"\nmount -t sysfs sysfs "$root/sys"\nmount -t cgroup2 cgroup2 "$root/sys/fs/cgroup"\n';
  await writeFile(join(folder, 'mounts'), mounts);
}

/** What the guest needs on a processor with AMX (uml-xstate.c). */
function preload(folder: string): { readonly LD_PRELOAD?: string } {
  if (!hasAmx) return {};
  const library = join(folder, 'xstate.so');
  const words = ['-shared', '-fPIC', '-O2', '-o', library, join(import.meta.dirname, 'uml-xstate.c')];
  const { status, stderr } = spawnSync('gcc', words, { encoding: 'utf8' });
  assert.equal(status, 0, stderr);
  return { LD_PRELOAD: library };
}

test(
  'with cgroup v2 alone containers with limits start in a VM, also after a restart',
  { skip },
  async (t) => {
    const folder = await mkdtemp(join(tmpdir(), 'control-groups-'));
    t.after(() => rm(folder, { recursive: true }));
    await filesOf(folder);
    const words = [
      ...[
        'mem=256M',
        `uml_dir=${folder}/`,
        'rootfstype=hostfs',
        'rootflags=/',
        'ro',
        'con=null',
        'con0=null,fd:1',
      ],
      `init=${join(import.meta.dirname, 'control-groups.sh')}`,
      `SUITE_FOLDER=${folder}`,
      `SUITE_CONTAINER=${join(import.meta.dirname, '../../src/agent/testing/container.sh')}`,
    ];
    const environment = { ...process.env, TMPDIR: '/dev/shm', ...preload(folder) };
    const { stdout } = await promisify(execFile)('linux.uml', words, { env: environment, timeout: 120_000 });
    const said = stdout.split(/\r?\n/u).flatMap((line) => /^suite: (.*)/u.exec(line)?.slice(1) ?? []);
    const life = [
      'agent in /vm',
      "container '' in /jobs/one",
      "container '/vm/bpm-job' in /jobs/vm/bpm-job",
      "container '/garden/app' in /jobs/garden/app",
    ];
    const lives = ['--mount', '--mount', '--mount --cgroup'].flatMap((way) => [`unshare ${way}`, ...life]);
    assert.deepEqual(said, [...lives, 'the node has kubepods/'], stdout.slice(-3000));
  },
);
