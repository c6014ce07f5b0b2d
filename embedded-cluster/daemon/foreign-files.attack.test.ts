import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, chown, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { findProcess, parseProcessRecord } from './process-record.ts';
import { startDaemon } from './start-daemon.ts';
import { stopDaemon } from './stop-daemon.ts';

const nobody = 65534;
const withoutRoot = process.getuid?.() === 0 ? false : 'needs root, to be another user';

async function clusterDirectory(t: TestContext): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'bosh-kubernetes-foreign-'));
  t.after(() => rm(directory, { recursive: true }));
  return directory;
}

/**
 * Starts a process that belongs to no cluster. Returns the content of a record that would make it look like a
 * cluster's process.
 */
async function victim(t: TestContext): Promise<{ record: string; isAlive: () => boolean }> {
  const child = spawn('sleep', ['600'], { stdio: 'ignore' });
  t.after(() => child.kill('SIGKILL'));
  await once(child, 'spawn');
  const stat = await readFile(`/proc/${child.pid}/stat`, 'utf8');
  const boot = (await readFile('/proc/sys/kernel/random/boot_id', 'utf8')).trim();
  const started = stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19];
  return {
    record: `${child.pid} ${started} ${boot}\n`,
    isAlive: () => child.exitCode === null && child.signalCode === null,
  };
}

test('a cluster directory that others can write is used neither to stop a process nor to start a cluster', async (t) => {
  const directory = await clusterDirectory(t);
  const { record, isAlive } = await victim(t);
  await writeFile(join(directory, 'process'), record);
  await chmod(directory, 0o777);
  await assert.rejects(stopDaemon(directory), { code: 'CLUSTER_STOP', message: /chmod go-w/ });
  const options = { directory, runtimeDirectory: directory, nodeBinary: '/bin/false', main: '/bin/false' };
  await assert.rejects(startDaemon(options), { code: 'CLUSTER_START', message: /chmod go-w/ });
  assert.ok(isAlive());
});

test("a record of the cluster's process that is a link or a pipe is refused by name", async (t) => {
  const directory = await clusterDirectory(t);
  const { record, isAlive } = await victim(t);
  await writeFile(join(directory, 'elsewhere'), record);
  await symlink('elsewhere', join(directory, 'process'));
  await assert.rejects(stopDaemon(directory), {
    code: 'FILE_NOT_TRUSTED',
    message: /process'.*symbolic link/,
  });
  await rm(join(directory, 'process'));
  execFileSync('mkfifo', [join(directory, 'process')]);
  await assert.rejects(findProcess(directory), { code: 'FILE_NOT_TRUSTED' });
  assert.ok(isAlive());
});

test(
  "another user's record of the cluster's process is refused by name",
  { skip: withoutRoot },
  async (t) => {
    const directory = await clusterDirectory(t);
    const { record, isAlive } = await victim(t);
    await writeFile(join(directory, 'process'), record);
    await chown(join(directory, 'process'), nobody, nobody);
    await assert.rejects(stopDaemon(directory), { code: 'FILE_NOT_TRUSTED', message: /user 65534/ });
    assert.ok(isAlive());
  },
);

test('process 1 is not a cluster', () => {
  for (const pid of ['0', '1', '01']) assert.equal(parseProcessRecord(`${pid} 5 0a-b\n`), undefined);
});
