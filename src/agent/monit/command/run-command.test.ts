import assert from 'node:assert/strict';
import { test } from 'node:test';
import { monitService } from '../../testing/monit-services.ts';
import type { ActionResult, ProcessStatus } from '../job-supervisor.ts';
import { runCommand } from './run-command.ts';
import type { CommandPorts } from './run-command.ts';

const now = Date.UTC(2026, 10, 6, 15, 38, 51);
const live = {
  ...{ pid: 42, startTicks: 7, name: 'web', userIds: [0, 0], mark: undefined },
  ...{ startedAt: now - 3_720_000, memoryKilobytes: 100, cpuSeconds: 0 },
};

function status(name: string, parts: Partial<ProcessStatus> = {}): ProcessStatus {
  const subject = { kind: 'pidfile', path: '/x' } as const;
  return {
    ...{ name, state: 'running', problems: [], pending: undefined, live: undefined, diagnostics: undefined },
    definition: monitService({ name, subject }),
    ...parts,
  };
}

const others = {
  file: monitService({ name: 'mark', subject: { kind: 'file', path: '/mark' }, groups: ['vcap', 'marks'] }),
  host: monitService({ name: 'near', subject: { kind: 'host', address: 'near' } }),
};

function bench(processes: readonly ProcessStatus[], answer: ActionResult = 'accepted') {
  const requests: string[] = [];
  const ports: CommandPorts = {
    processes: async () => processes,
    request: (name, action) => {
      requests.push(`${action} ${name}`);
      return processes.some((one) => one.name === name) ? answer : 'unknown';
    },
    reload: () => void requests.push('reload'),
    facts: async () => ({
      ...{ now, startedAt: now - 100_000_000, hostname: 'vm', loadAverages: [0.5, 1, 2] },
      ...{ memoryKilobytes: 1000, processors: 2 },
      usages: [
        { pid: 42, startTicks: 7, parentPid: 1, sessionId: 42, memoryKilobytes: 100, cpuSeconds: 744 },
        { pid: 43, startTicks: 9, parentPid: 42, sessionId: 42, memoryKilobytes: 50, cpuSeconds: 744 },
      ],
    }),
  };
  return { requests, run: (...args: string[]) => runCommand(args, ports) };
}

test('prints the summary of monit 5.2.5', async () => {
  const { run } = bench([
    status('web', { live }),
    status('gorouter-with-a-name-that-is-long'),
    status('worker', { state: 'unmonitored' }),
    status('new', { state: 'starting', pending: 'start' }),
    status('ended', { state: 'failing', problems: ['Does not exist'] }),
    status('broken', { state: 'failing', problems: ['Does not exist', 'Execution failed'] }),
    status('large', { state: 'failing', problems: ['Resource limit matched'], pending: 'restart' }),
    status('mark', { definition: others.file }),
    status('near', { definition: others.host }),
  ]);
  assert.deepEqual(await run('summary'), {
    code: 0,
    error: '',
    output: `The Monit daemon 5.2.5 uptime: 1d 3h 46m 

Process 'web'                       running
Process 'gorouter-with-a-name-that-is-long' running
Process 'worker'                    not monitored
Process 'new'                       initializing - start pending
Process 'ended'                     Does not exist
Process 'broken'                    Execution failed
Process 'large'                     Resource limit matched - restart pending
File 'mark'                         accessible
Remote Host 'near'                  online with all services
System 'system_vm'                  running
`,
  });
});

test('prints the status of monit 5.2.5', async () => {
  const { output } = await bench([status('web', { live })]).run('status');
  const [, web = '', system = ''] = output.split(/\n\n/);
  assert.match(
    web,
    /^Process 'web'\n {2}status {28}running\n {2}monitoring status {17}monitored\n {2}pid {31}42\n {2}parent pid {24}1\n {2}uptime {28}1h 2m \n {2}children {26}1\n {2}memory kilobytes {18}100\n {2}memory kilobytes total {12}150\n {2}memory percent {20}10\.0%\n {2}memory percent total {14}15\.0%\n {2}cpu percent {23}10\.0%\n {2}cpu percent total {17}20\.0%\n {2}data collected {20}\w{3} Nov {2}\d \d\d:38:51 2026$/,
  );
  assert.match(system, /^System 'system_vm'\n(.*\n)* {2}load average {22}\[0\.50\] \[1\.00\] \[2\.00\]\n/);
});

test('applies actions to a service, to a group or to all', async () => {
  const { requests: asked, run } = bench([status('web'), status('mark', { definition: others.file })]);
  const done = { code: 0, output: '', error: '' };
  assert.deepEqual(await run('restart', 'web'), done);
  assert.deepEqual(await run('stop', '-g', 'VCAP'), done);
  assert.deepEqual(await run('-gmarks', 'unmonitor', 'web'), done);
  assert.deepEqual(await run('-c', '/x', 'monitor', 'all'), done);
  assert.deepEqual(await run('start', '-g', 'none'), done);
  assert.deepEqual(asked, [
    ...['restart web', 'stop web', 'stop mark', 'unmonitor mark', 'monitor web', 'monitor mark'],
  ]);
  assert.deepEqual(await run('reload', 'web'), {
    code: 0,
    output: '',
    error: 'Reinitializing monit daemon\n',
  });
  assert.equal(asked.at(-1), 'reload');
});

for (const [args, error] of [
  [['start', 'nobody'], 'action failed -- There is no service by that name'],
  [['start'], "please specify the configured service name or 'all' after start"],
  [['dance', 'web'], 'invalid argument -- dance  (-h will show valid arguments)'],
  [['quit'], 'invalid argument -- quit  (-h will show valid arguments)'],
  [[], 'no argument  (-h will show valid arguments)'],
  [['-x', 'summary'], 'invalid option -- x  (-h will show valid options)'],
  [['stop', '-g'], 'option -- g requires an argument'],
] as const) {
  test(`'monit ${args.join(' ')}' exits with 1`, async () => {
    const result = await bench([status('web')]).run(...args);
    assert.deepEqual(result, { code: 1, output: '', error: `monit: ${error}\n` });
  });
}

test('an action that waits for another one exits with 1', async () => {
  const { code, error } = await bench([status('web')], 'busy').run('restart', 'all');
  assert.deepEqual(
    [code, error],
    [1, 'monit: action failed -- Other action already in progress -- please try again later\n'],
  );
});

test('prints the version that scripts expect', async () => {
  assert.match((await bench([]).run('-V')).output, /^This is Monit version 5\.2\.5\n/);
  assert.match((await bench([]).run('-h')).output, /^Usage: monit .*\n(.*\n)* unmonitor name/);
});
