import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmod, chown, link, mkdir, mkdtemp, open, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import type { MonitService } from '../../bosh/monit/monit-service.ts';
import { systemClock } from '../../platform/clock.ts';
import { newLaunchMark, systemPrograms } from '../process/programs.ts';
import { procProcessTable } from '../process/process-table.ts';
import { eventually } from '../testing/eventually.ts';
import {
  asHostileUser,
  hostileUser,
  hostileUserIsMissing,
  identitiesWithVcap,
} from '../testing/hostile-user.ts';
import { monitScript, monitService } from '../testing/monit-services.ts';
import { watchedService, type WatchedService } from '../testing/watched-service.ts';
import type { SupervisionRecord } from './supervision-state.ts';
import { launchProgram } from './launch.ts';
import { SupervisedService } from './supervised-service.ts';
import type { SupervisionPorts } from './supervision-ports.ts';
import { systemProbes } from './probes.ts';

interface Scene {
  /** sys/run/job: it belongs to root, and the job user's group can write to it. */
  readonly run: string;
  readonly pidFile: string;
  /** A process of root that does not belong to the job. */
  readonly victim: ChildProcess;
  readonly variables: Readonly<Record<string, string>>;
  readonly supervise: (start: string, user?: string, path?: string) => WatchedService;
  /** Supervises the same process with a restarted agent, which does not know it. */
  readonly superviseAgain: (process: WatchedService) => WatchedService;
}

async function scene(t: TestContext): Promise<Scene> {
  const base = await mkdtemp(join(tmpdir(), 'agent-'));
  await chmod(base, 0o755);
  const run = join(base, 'run');
  await mkdir(run);
  await chown(run, 0, hostileUser.gid);
  await chmod(run, 0o770);
  const victim = spawn('sleep', ['1000'], { stdio: 'ignore' });
  await once(victim, 'spawn');
  const supervised: WatchedService[] = [];
  t.after(async () => {
    for (const process of supervised) await process.stop();
    victim.kill('SIGKILL');
    await rm(base, { recursive: true });
  });
  const pidFile = join(run, 'job.pid');
  const now = (): number => systemClock.now();
  let kept: SupervisionRecord = {};
  const ports: SupervisionPorts = {
    table: procProcessTable,
    probes: systemProbes,
    clock: systemClock,
    log: { info: () => undefined, error: () => undefined },
    launch: (...call) =>
      launchProgram({ programs: systemPrograms, identities: identitiesWithVcap, now }, ...call),
    newMark: newLaunchMark,
    scriptMark: () => undefined,
    rotate: async () => undefined,
    alert: () => {},
    remember: async (_, record) => void (kept = record),
  };
  const superviseDefinition = (definition: MonitService, record: SupervisionRecord): WatchedService => {
    const process = watchedService(definition, ports, record);
    supervised.push(process);
    return process;
  };
  return {
    ...{ run, pidFile, victim },
    variables: { RUN: run, PIDFILE: pidFile, VICTIM: String(victim.pid), BASE: base },
    superviseAgain: ({ definition }) => superviseDefinition(definition, { ...kept, known: undefined }),
    supervise(start, user?, path = pidFile) {
      return superviseDefinition(
        monitService({ subject: { kind: 'pidfile', path }, start: monitScript(start, 20, user) }),
        {},
      );
    },
  };
}

async function assertSpared(process: WatchedService, { victim }: Scene): Promise<void> {
  assert.equal(await process.find(), undefined, 'the named process passes for the job');
  await process.stop();
  assert.equal(victim.exitCode ?? victim.signalCode, null, 'the named process was ended');
}

const title = (text: string): [string, { skip: string | false; timeout: number }] => [
  text,
  { skip: hostileUserIsMissing, timeout: 30_000 },
];

test(...title("a job user's pidfile names a process of root"), async (t) => {
  const here = await scene(t);
  const { code } = await asHostileUser('echo "$VICTIM" > "$PIDFILE"', here.variables);
  assert.equal(code, 0);
  await assertSpared(here.supervise('exit 1'), here);
});

test(...title("a job user's pidfile names PID 1 and the agent itself"), async (t) => {
  const here = await scene(t);
  const process = here.supervise('exit 1');
  const named = [];
  for (const pid of [1, globalThis.process.pid]) {
    await asHostileUser(`echo ${pid} > "$PIDFILE"`, here.variables);
    named.push(await process.find());
  }
  // Remove the pidfile first, so that nothing can stop the process that it names.
  await rm(here.pidFile);
  assert.deepEqual(named, [undefined, undefined]);
});

test(
  ...title('a log of root, written through an inherited descriptor, is moved to the pidfile'),
  async (t) => {
    const here = await scene(t);
    const log = join(here.run, 'job.log');
    const opened = await open(log, 'w', 0o600);
    t.after(() => opened.close());
    const process = here.supervise('exit 1');
    process.watch();
    await eventually('a start', async () => (process.state === 'failing' ? true : undefined));
    await process.unwatch();
    // A process that started after the start program, of another job or of a session.
    const victim = spawn('sleep', ['1000'], { stdio: 'ignore', detached: true });
    await once(victim, 'spawn');
    t.after(() => victim.kill('SIGKILL'));
    const script = 'echo "$VICTIM" >&3; mv "$RUN/job.log" "$PIDFILE"';
    const variables = { ...here.variables, VICTIM: String(victim.pid) };
    assert.equal((await asHostileUser(script, variables, opened.fd)).code, 0);
    await assertSpared(here.superviseAgain(process), { ...here, victim });
    await assertSpared(process, { ...here, victim });
  },
);

test(...title('such a log is moved into a sticky folder of root, where the pidfile lies'), async (t) => {
  const here = await scene(t);
  const sticky = join(here.run, '..', 'tmp');
  await mkdir(sticky);
  await chmod(sticky, 0o1777);
  await writeFile(join(here.run, 'job.log'), String(here.victim.pid));
  const script = 'mv "$RUN/job.log" "$BASE/tmp/job.pid"';
  assert.equal((await asHostileUser(script, here.variables)).code, 0);
  await assertSpared(here.supervise('exit 1', undefined, join(sticky, 'job.pid')), here);
});

for (const [what, script] of [
  ['a pipe', 'mkfifo "$PIDFILE"'],
  ['a link to a device without an end', 'ln -s /dev/zero "$PIDFILE"'],
  ['a link to the pidfile of a process of root', 'ln -s "$BASE/root.pid" "$PIDFILE"'],
  ['a folder', 'mkdir "$PIDFILE"'],
] as const) {
  test(...title(`a job user puts ${what} in the place of the pidfile`), async (t) => {
    const here = await scene(t);
    await writeFile(join(here.run, '..', 'root.pid'), String(here.victim.pid));
    assert.equal((await asHostileUser(script, here.variables)).code, 0);
    await assertSpared(here.supervise('exit 1'), here);
  });
}

test(...title('the folder of the pidfile is a link, and the pidfile has a second name'), async (t) => {
  const here = await scene(t);
  const elsewhere = join(here.run, '..', 'elsewhere');
  await mkdir(elsewhere);
  await writeFile(join(elsewhere, 'root.pid'), String(here.victim.pid));
  await asHostileUser('ln -s "$BASE/elsewhere" "$RUN/deep"', here.variables);
  const process = here.supervise('exit 1');
  const deep = new SupervisedService(
    monitService({ subject: { kind: 'pidfile', path: join(here.run, 'deep', 'root.pid') } }),
    { table: procProcessTable, clock: systemClock, scriptMark: () => undefined } as never,
    {},
  );
  assert.equal(await deep.find(), undefined);
  // A job user can create this link if the kernel does not protect hard links.
  await link(join(elsewhere, 'root.pid'), here.pidFile);
  await assertSpared(process, here);
});

test(...title('what the start program began counts, in any session and as any user'), async (t) => {
  for (const start of [
    'echo $$ > "$P"; exec sleep 1000',
    'setsid sh -c \'echo $$ > "$0"; exec sleep 1000\' "$P" & exit 0',
    'setpriv --reuid 54321 --regid 54321 --clear-groups sh -c \'echo $$ > "$0"; exec setsid sleep 1000\' "$P" & exit 0',
    'setsid setpriv --reuid 54321 --regid 54321 --clear-groups sleep 1000 & echo $! > "$P"',
    'sleep 1000 & echo $! > "$P"; chown 54321 "$P"',
    // A daemon with its own environment whose parents have ended.
    'env -i setsid sh -c \'sh -c "echo \\$\\$ > $0; exec setsid sleep 1000" & exit 0\' "$P"',
  ]) {
    const here = await scene(t);
    const process = here.supervise(`P=${here.pidFile}; ${start}`);
    process.watch();
    await eventually(`a running process of ${start}`, async () =>
      process.state === 'running' ? true : undefined,
    );
    const pid = (await process.find())?.pid;
    await process.unwatch();
    assert.equal((await here.superviseAgain(process).find())?.pid, pid, 'after a restart of the agent');
    await process.stop();
    assert.equal(await process.find(), undefined);
  }
});

test(...title('a program as a user without a group keeps a group of root'), async (t) => {
  const here = await scene(t);
  const process = here.supervise(
    `id -u > ${here.run}/ids; id -G >> ${here.run}/ids; mv ${here.run}/ids ${here.run}/all-ids; exit 1`,
    'vcap',
  );
  process.watch();
  const ids = await eventually('the ids', () =>
    readFile(join(here.run, 'all-ids'), 'utf8').catch(() => undefined),
  );
  assert.equal(ids, `${hostileUser.uid}\n${hostileUser.gid}\n`);
});
