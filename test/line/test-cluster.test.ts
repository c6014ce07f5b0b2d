import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { missingForCluster } from '../cluster/requirements.ts';
import { mountsOf, processesOf, type MachineProcess } from '../support/machine.ts';

const run = promisify(execFile);
const checkout = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const name = 'again';

const missing = missingForCluster();

/**
 * Runs a command on a cluster that is separate from those of other suites, because it has its own state
 * directory.
 */
async function onCluster(stateHome: string, args: readonly string[]): Promise<string> {
  const main = join(checkout, 'test', 'cluster', 'main.ts');
  const env = { ...process.env, XDG_STATE_HOME: stateHome };
  const { stdout, stderr } = await run(process.execPath, [main, '--name', name, ...args], { env });
  return stdout + stderr;
}

/** Returns the long-running ones of the processes, by pid and start time. */
const lasting = (processes: readonly MachineProcess[]): string[] =>
  processes
    .filter(({ command }) => /^\S*\/(?:etcd|kube[a-z-]+|containerd) /u.test(command))
    .map(({ pid, startTime, command }) => `${pid} ${startTime} ${command.split(' ')[0]}`)
    .toSorted();

/**
 * Returns the control groups of its nodes, below each controller or below the single hierarchy of version 2.
 */
async function controlGroups(): Promise<string[]> {
  const { stdout } = await run('find', [
    '/sys/fs/cgroup',
    '-maxdepth',
    '2',
    '-name',
    `bosh-kubernetes-${name}-*`,
  ]);
  return stdout.split('\n').filter(Boolean);
}

test(
  'npm run test:cluster uses the running cluster, and --down leaves nothing of it',
  missing === undefined ? {} : { skip: missing },
  async (t) => {
    const stateHome = await mkdtemp(join(tmpdir(), 'bosh-kubernetes-test-cluster-'));
    t.after(async () => {
      await onCluster(stateHome, ['--down']);
      await rm(stateHome, { recursive: true });
    });
    await onCluster(stateHome, ['--up']);
    const first = lasting(await processesOf(stateHome));
    // Those of the control plane and of each node.
    assert.equal(first.length, 4 + 2 * 2, first.join('\n'));
    assert.notDeepEqual(await controlGroups(), []);

    const output = await onCluster(stateHome, ['--enter', 'kubectl', 'get', 'nodes', '--output', 'name']);
    assert.match(output, /node\/node-1\nnode\/node-2/u);
    await onCluster(stateHome, ['--up']);
    assert.deepEqual(lasting(await processesOf(stateHome)), first);

    await onCluster(stateHome, ['--down']);
    assert.deepEqual(await processesOf(stateHome), []);
    assert.deepEqual(await mountsOf(stateHome), []);
    assert.deepEqual(await controlGroups(), []);
    const { stdout: devices } = await run('losetup', ['--list', '--noheadings', '--output', 'BACK-FILE']);
    assert.ok(!devices.includes(stateHome), devices);
    // The next process may be waiting for the lock.
    assert.deepEqual(await readdir(join(stateHome, 'bosh-kubernetes', 'clusters')), [`${name}.lock`]);
  },
);
