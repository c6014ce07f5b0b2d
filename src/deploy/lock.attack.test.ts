import assert from 'node:assert/strict';
import { execFileSync, spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { chmod, chown, link, mkdir, readFile, readdir, realpath, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { systemClock } from '../platform/clock.ts';
import { identifyProcess } from '../platform/process-identity.ts';
import { acquireLock, type DeploymentLock } from './lock.ts';
import { signalGroup } from '../platform/run-program.ts';
import { scratchDirectory } from './testing/scratch.ts';

const nobody = 65534;
const withoutRoot = process.getuid?.() === 0 ? false : 'needs root, to be another user';

interface StateLocation {
  readonly directory: string;
  readonly statePath: string;
  readonly lockPath: string;
  readonly locks: string;
  readonly acquire: () => Promise<DeploymentLock>;
}

async function makeState(t: TestContext): Promise<StateLocation> {
  const directory = await realpath(await scratchDirectory(t));
  const [statePath, locks] = [join(directory, 'state.json'), join(directory, 'locks')];
  const acquire = () => acquireLock(statePath, { clock: systemClock, locks });
  return { directory, statePath, lockPath: `${statePath}.lock`, locks, acquire };
}

async function running(t: TestContext, command = ['sleep', '600']): Promise<ChildProcess> {
  const child = spawn(command[0] ?? '', command.slice(1), { stdio: 'ignore', detached: true });
  t.after(() => child.kill('SIGKILL'));
  await once(child, 'spawn');
  return child;
}

/** Returns the record that a killed run would have left for the process. */
const noteOf = (pid: number, changes: object = {}): string =>
  JSON.stringify({
    ...{ pid: process.pid, started: 'an earlier boot/1', since: 'x' },
    child: { ...identifyProcess(pid), doing: "CPI call 'create_vm'", disposable: true, ...changes },
  });

test('a lock that names process 1, or no process, as its child is refused by name', async (t) => {
  const { lockPath, acquire } = await makeState(t);
  for (const pid of [1, 0, -1, -process.pid, 1.5, 2 ** 40 + 0.5, '1', null]) {
    await writeFile(lockPath, noteOf(1, { pid }));
    await assert.rejects(acquire(), { code: 'DEPLOYMENT_LOCKED', message: /state\.json\.lock' is not what/ });
  }
});

test('no caller can kill all processes by a group of invalid id', (t) => {
  const kill = t.mock.method(process, 'kill', () => true);
  for (const pid of [1, 0, -1, -5, 1.5, Number.NaN])
    assert.throws(() => signalGroup(pid, 'SIGKILL'), /not the process group/);
  assert.equal(kill.mock.callCount(), 0);
});

test("another user's lock does not make a run kill a process group", { skip: withoutRoot }, async (t) => {
  const { lockPath, acquire } = await makeState(t);
  const { pid = 0 } = await running(t);
  await writeFile(lockPath, noteOf(pid));
  await chown(lockPath, nobody, nobody);
  await assert.rejects(acquire(), { code: 'FILE_NOT_TRUSTED', message: /state\.json\.lock'.*user 65534/ });
  assert.ok(identifyProcess(pid) !== undefined);
});

test(
  "another user's process, or a later one with the same id, is not a child of a killed run",
  { skip: withoutRoot },
  async (t) => {
    const { lockPath, acquire } = await makeState(t);
    const asNobody = ['setpriv', '--reuid', String(nobody), '--regid', String(nobody), '--clear-groups'];
    const foreign = (await running(t, [...asNobody, 'sleep', '600'])).pid ?? 0;
    while (
      !execFileSync('ps', ['-o', 'comm=', '-p', String(foreign)], { encoding: 'utf8' }).startsWith('sleep')
    );
    const own = (await running(t)).pid ?? 0;
    for (const note of [noteOf(foreign), noteOf(own, { started: `${identifyProcess(own)?.started}0` })]) {
      await writeFile(lockPath, note);
      const lock = await acquire();
      assert.equal(lock.leftoverProcess, undefined);
      await lock.release();
    }
  },
);

test('a lock that is a link or a pipe is refused by name at once, and the target of the link stays', async (t) => {
  const { directory, lockPath, acquire } = await makeState(t);
  const victim = join(directory, 'victim');
  await writeFile(victim, noteOf(process.pid));
  await symlink(victim, lockPath);
  await assert.rejects(acquire(), { code: 'FILE_NOT_TRUSTED', message: /state\.json\.lock'.*symbolic link/ });
  assert.equal(await readFile(victim, 'utf8'), noteOf(process.pid));
  execFileSync('rm', [lockPath]);
  execFileSync('mkfifo', [lockPath]);
  await assert.rejects(acquire(), {
    code: 'FILE_NOT_TRUSTED',
    message: /state\.json\.lock'.*no regular file/,
  });
});

test('a link at the path of a temporary lock file is not followed, and these paths are unpredictable', async (t) => {
  const { directory, lockPath, acquire } = await makeState(t);
  const victim = join(directory, 'victim');
  await writeFile(victim, 'whole');
  for (const name of [`${lockPath}.${process.pid}`, `${lockPath}.new`]) await symlink(victim, name);
  const { pid = 0 } = await running(t);
  const lock = await acquire();
  lock.recordChild(pid, { doing: 'x', disposable: false });
  assert.equal((JSON.parse(await readFile(lockPath, 'utf8')) as { child: { pid: number } }).child.pid, pid);
  await lock.release();
  assert.equal(await readFile(victim, 'utf8'), 'whole');
});

test('an abstract socket of another user does not keep a run from its lock', async (t) => {
  const { lockPath, acquire } = await makeState(t);
  const name = `\0bosh-kubernetes-${createHash('sha256').update(lockPath).digest('hex')}`;
  const server = createServer().listen({ path: name });
  await once(server, 'listening');
  t.after(() => server.close());
  await (await acquire()).release();
});

test('a lock directory that others can write, or that is a link, is refused', async (t) => {
  const { directory, locks, acquire } = await makeState(t);
  await mkdir(locks);
  await chmod(locks, 0o777);
  await assert.rejects(acquire(), { code: 'FILE_NOT_TRUSTED', message: /chmod go-w '.*locks'/ });
  await chmod(locks, 0o700);
  await (await acquire()).release();
  execFileSync('rm', ['-r', locks]);
  await mkdir(join(directory, 'elsewhere'));
  await symlink('elsewhere', locks);
  await assert.rejects(acquire(), { code: 'FILE_NOT_TRUSTED', message: /locks'.*symbolic link/ });
  assert.deepEqual(await readdir(join(directory, 'elsewhere')), []);
});

const program = join(import.meta.dirname, 'testing', 'take-lock.ts');
const pidNamespace = ['unshare', '--map-root-user', '--pid', '--fork', '--kill-child', '--mount-proc'];
const probe = spawnSync(pidNamespace[0] ?? '', [...pidNamespace.slice(1), 'true'], { encoding: 'utf8' });
const withoutNamespaces = probe.status !== 0 && `needs user and pid namespaces: ${probe.stderr}`;

/** Starts a run in another process. Resolves when it has reported whether it got the lock. */
async function another(t: TestContext, { statePath, locks }: StateLocation, prefix: readonly string[] = []) {
  const [file, ...args] = [...prefix, process.execPath, program, statePath, locks];
  const child = spawn(file, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  t.after(() => child.kill('SIGKILL'));
  const [output] = (await once(child.stdout, 'data')) as [Buffer];
  return { child, output: String(output).trim() };
}

test(
  'a run in another pid namespace is excluded like one in this namespace',
  { skip: withoutNamespaces },
  async (t) => {
    const here = await makeState(t);
    const lock = await here.acquire();
    assert.equal((await another(t, here, pidNamespace)).output, 'DEPLOYMENT_LOCKED');
    await lock.release();
    const there = await another(t, here, pidNamespace);
    assert.equal(there.output, 'locked');
    await assert.rejects(here.acquire(), { code: 'DEPLOYMENT_LOCKED' });
  },
);

test('the lock of a killed run is free at once, also for many at a time', async (t) => {
  const here = await makeState(t);
  const { child, output } = await another(t, here);
  assert.equal(output, 'locked');
  // A hard link to the record must not matter either.
  await link(here.lockPath, join(here.directory, 'second'));
  child.kill('SIGKILL');
  await once(child, 'close');
  const runs = await Promise.all(Array.from({ length: 4 }, () => another(t, here)));
  assert.deepEqual(runs.map((run) => run.output).toSorted(), [
    ...Array.from({ length: 3 }, () => 'DEPLOYMENT_LOCKED'),
    'locked',
  ]);
});
