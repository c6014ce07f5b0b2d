import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, open, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import type { MonitProgram, MonitService } from '../../bosh/monit/monit-service.ts';
import { systemClock } from '../../platform/clock.ts';
import { newLaunchMark, type StartedProgram, systemPrograms } from '../process/programs.ts';
import { procProcessTable } from '../process/process-table.ts';
import { eventually } from '../testing/eventually.ts';
import { monitScript, monitService } from '../testing/monit-services.ts';
import { watchedService, type WatchedService } from '../testing/watched-service.ts';
import { loadIdentities } from '../user/identities.ts';
import { launchProgram } from './launch.ts';
import { jobStateOf } from './job-supervisor.ts';
import { restartDelay } from './restarts.ts';
import { systemProbes } from './probes.ts';

interface Bench {
  readonly pidFile: string;
  readonly directory: string;
  readonly lines: readonly string[];
  /** Every program that has been started, in order. */
  readonly started: readonly StartedProgram[];
  readonly supervise: (
    start: string,
    stop?: string,
    timeoutSeconds?: number,
    name?: string,
  ) => WatchedService;
}

async function bench(t: TestContext): Promise<Bench> {
  const directory = await mkdtemp(join(tmpdir(), 'agent-'));
  const pidFile = join(directory, 'job.pid');
  const lines: string[] = [];
  const started: StartedProgram[] = [];
  const identities = await loadIdentities();
  const processes: WatchedService[] = [];
  t.after(async () => {
    for (const process of processes) await process.stop();
    await rm(directory, { recursive: true });
  });
  return {
    pidFile,
    directory,
    lines,
    started,
    supervise(start, stop, timeoutSeconds = 20, name = 'job') {
      const definition = monitService({
        name,
        subject: { kind: 'pidfile', path: join(directory, `${name}.pid`) },
        start: monitScript(start, timeoutSeconds),
        stop: stop === undefined ? undefined : monitScript(stop, timeoutSeconds),
      });
      const write = (text: string): void => void lines.push(text);
      const ports = {
        table: procProcessTable,
        probes: systemProbes,
        clock: systemClock,
        log: { info: write, error: write },
        launch: (...call: [MonitService, MonitProgram, string, string?]) => {
          const launched = launchProgram({ programs: systemPrograms, identities, now: Date.now }, ...call);
          started.push(launched);
          return launched;
        },
        scriptMark: () => undefined,
        newMark: newLaunchMark,
        rotate: async () => undefined,
        alert: () => {},
        remember: async (): Promise<void> => undefined,
      };
      const process = watchedService(definition, ports, {});
      processes.push(process);
      return process;
    },
  };
}

const runs = (process: WatchedService): Promise<true> =>
  eventually('a running process', async () => (process.state === 'running' ? true : undefined));

test('does not kill a start program that becomes the process itself at its timeout', async (t) => {
  const { pidFile, lines, supervise } = await bench(t);
  const process = supervise(`echo $$ > ${pidFile}; exec sleep 1000`, undefined, 1);
  process.watch();
  await runs(process);
  const live = await process.find();
  assert.equal(live?.name, 'sleep');
  // monit's umask applies.
  assert.equal((await stat(pidFile)).mode & 0o777, 0o600);
  // This one starts later with the same timeout. When its timeout has passed, the other's has, too.
  supervise('exec sleep 1000', undefined, 1, 'later').watch();
  await eventually('the later timeout', async () =>
    lines.some((line) => line.includes("'later': did not come up: its start program still runs"))
      ? true
      : undefined,
  );
  assert.equal((await process.find())?.pid, live?.pid);
  await process.stop();
  assert.equal(await process.find(), undefined);
  assert.equal(process.state, 'unmonitored');
});

test('kills a process whose stop program does nothing after its timeout', async (t) => {
  const { pidFile, lines, supervise } = await bench(t);
  const process = supervise(`trap '' TERM; echo $$ > ${pidFile}; while :; do sleep 0.1; done`, 'true', 1);
  process.watch();
  await runs(process);
  await process.stop();
  assert.equal(await process.find(), undefined);
  assert.ok(lines.some((line) => line.includes('did not end in time, killing it')));
});

test('reports a failing start program and runs it again until its process runs', async (t) => {
  const { pidFile, directory, lines, supervise } = await bench(t);
  const process = supervise(`[ -e ${directory}/ready ] || exit 4; echo $$ > ${pidFile}; exec sleep 1000`);
  process.watch();
  assert.equal(process.state, 'starting');
  await eventually('a failure', async () => (process.state === 'failing' ? true : undefined));
  assert.ok(lines.some((line) => line.includes('did not come up: its start program exited with 4')));
  await writeFile(join(directory, 'ready'), '');
  await runs(process);
});

test('a stop during a start leaves no process that comes up later', async (t) => {
  const { pidFile, directory, started, supervise } = await bench(t);
  const gate = join(directory, 'gate');
  execFileSync('mkfifo', [gate]);
  const opened = await open(gate, 'r+');
  t.after(() => opened.close());
  const process = supervise(`touch ${directory}/begun; read -r word < ${gate}; echo $$ > ${pidFile}`);
  process.watch();
  await eventually('the start program', () => readFile(join(directory, 'begun')).catch(() => undefined));

  await process.stop();
  await opened.write('go on\n');

  assert.equal((await started[0]?.exit)?.signal, 'SIGKILL');
  await assert.rejects(readFile(pidFile), /ENOENT/);
  assert.equal(started.length, 1);
});

test('a stop ends a start program that outlived its timeout', async (t) => {
  const { started, supervise } = await bench(t);
  const process = supervise('exec sleep 1000', undefined, 0.1);
  process.watch();
  await eventually('a failure', async () => (process.state === 'failing' ? true : undefined));

  await process.stop();

  assert.equal((await started.at(-1)?.exit)?.signal, 'SIGKILL');
});

test('ignores a pidfile that is older than its process', async (t) => {
  const { pidFile, supervise } = await bench(t);
  const stranger = spawn('sleep', ['1000'], { stdio: 'ignore' });
  await once(stranger, 'spawn');
  t.after(() => stranger.kill());
  const process = supervise('exit 1');
  await writeFile(pidFile, `${stranger.pid}\n`);
  assert.equal((await process.find())?.pid, stranger.pid);
  const longAgo = new Date(Date.now() - 60_000);
  await utimes(pidFile, longAgo, longAgo);
  assert.equal(await process.find(), undefined);
  await writeFile(pidFile, 'no number');
  assert.equal(await process.find(), undefined);
});

test('delays between restarts double up to ten seconds', () => {
  assert.deepEqual(
    [0, 1, 2, 3, 4, 5, 6, 5000].map(restartDelay),
    [0, 1000, 2000, 4000, 8000, 10_000, 10_000, 10_000],
  );
});

test('the state of the VM is the worst state of its services', () => {
  assert.equal(jobStateOf([], false), 'running');
  assert.equal(jobStateOf(['running', 'starting', 'failing'], false), 'starting');
  assert.equal(jobStateOf(['running', 'failing'], false), 'failing');
  assert.equal(jobStateOf(['running', 'unmonitored'], false), 'failing');
  assert.equal(jobStateOf(['running', 'running'], false), 'running');
  assert.equal(jobStateOf(['unmonitored'], true), 'stopped');
  assert.equal(jobStateOf(['failing'], true), 'failing');
});
