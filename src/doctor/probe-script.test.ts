import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { promisify } from 'node:util';
import { parseProbeReport, type ProbeReport } from './probe-report.ts';
import { kernelParameters, probeScript } from './probe-script.ts';

const run = promisify(execFile);
const namespaces = ['--mount', '--net', '--pid', '--fork', '--mount-proc'];

function missing(): string | false {
  if (process.geteuid?.() !== 0) return 'needs root';
  if (!existsSync('/dev/loop-control')) return 'needs loop devices';
  const programs = { ip: 'iproute2', losetup: 'mount' };
  for (const [program, name] of Object.entries(programs))
    if (spawnSync(program, ['-V']).error !== undefined) return `needs Debian's package ${name}`;
  return spawnSync('unshare', [...namespaces, 'true']).status !== 0 && 'needs namespaces';
}
const options = { skip: missing() };

/**
 * Returns a new folder. The last part of its path is unique, because the control groups are named after it.
 */
async function folder(t: TestContext): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'bosh-doctor-'));
  t.after(() => rm(directory, { recursive: true, force: true }));
  return directory;
}

async function probe(directory: string, shell: string): Promise<ProbeReport> {
  const words = [...namespaces, shell, '-c', probeScript, 'probe', directory];
  const { stdout, stderr } = await run('unshare', words);
  assert.equal(stderr, '');
  return parseProbeReport(stdout);
}

const backingFiles = async (): Promise<string> =>
  (await run('losetup', ['--list', '--noheadings', '--output', 'BACK-FILE'])).stdout;

/** The values that all network namespaces share. */
const valuesOfNode = (): string[] =>
  kernelParameters
    .filter((name) => !name.startsWith('net.'))
    .map((name) => readFileSync(`/proc/sys/${name.replaceAll('.', '/')}`, 'utf8'));

test('the probe tries what it can, changes no kernel parameter and leaves nothing', options, async (t) => {
  const directory = await folder(t);
  const before = valuesOfNode();
  const report = await probe(directory, 'dash');
  assert.deepEqual(valuesOfNode(), before);
  for (const name of ['tools', 'loop', 'shared-mounts', 'overlay', 'cgroups', 'nested-container', 'veth'])
    assert.deepEqual([name, report.get(name)?.isPossible], [name, true], report.get(name)?.text);
  assert.equal(report.get('vm.overcommit_memory')?.text, before[0]?.trim());
  assert.ok(!existsSync(directory));
  assert.doesNotMatch(await backingFiles(), new RegExp(directory, 'u'));
  const cgroups = await readdir('/sys/fs/cgroup', { recursive: true });
  assert.deepEqual(
    cgroups.filter((path) => path.includes(directory.slice(5))),
    [],
  );
});

test('the loop device of a killed probe is freed, and that of another program stays', options, async (t) => {
  const directory = await folder(t);
  const other = await folder(t);
  await mkdir(directory, { recursive: true });
  const attached: string[] = [];
  for (const file of [join(directory, 'loop'), join(other, 'loop')]) {
    await writeFile(file, '');
    await truncate(file, 1024 * 1024);
    const { stdout } = await run('losetup', ['--find', '--show', file]);
    attached.push(stdout.trim());
  }
  t.after(() => run('losetup', ['--detach', attached[1] ?? '']));
  await probe(directory, 'bash');
  const files = await backingFiles();
  assert.doesNotMatch(files, new RegExp(`${directory}/`, 'u'));
  assert.match(files, new RegExp(`${other}/loop`, 'u'));
});
