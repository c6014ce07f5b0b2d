import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeMachine, matched } from '../testing/fake-machine.ts';
import type { DependencyGroup } from './dependency-group.ts';

const three = matched('web', 'depends on db') + matched('db') + matched('check', 'depends on web');

const states = (group: DependencyGroup): string =>
  group.services.map(({ definition, state }) => `${definition.name} ${state}`).join(', ');

const serviceOf = (group: DependencyGroup, name: string): DependencyGroup['services'][number] => {
  const found = group.services.find(({ definition }) => definition.name === name);
  assert.ok(found !== undefined);
  return found;
};

test('services start after their dependencies and stop before them', async () => {
  const machine = new FakeMachine();
  const group = machine.chain(three);
  group.start();
  assert.equal(states(group), 'db starting, web starting, check starting');
  await machine.clock.advance(0);
  assert.equal(machine.traced(), 'start db, start web, start check');
  assert.equal(states(group), 'db running, web running, check running');
  await group.stop();
  assert.equal(machine.traced(), 'stop check, stop web, stop db');
  assert.equal(states(group), 'db unmonitored, web unmonitored, check unmonitored');
});

test('a command during the start of all services runs afterwards', async () => {
  const machine = new FakeMachine();
  const group = machine.chain(three);
  group.start();
  const web = serviceOf(group, 'web');
  assert.equal(group.pending(web), 'start');
  assert.equal(group.request(web, 'restart'), true);
  assert.equal(group.pending(web), 'restart');
  await machine.clock.advance(0);
  assert.equal(
    machine.traced(),
    'start db, start web, start check, stop check, stop web, start web, start check',
  );
  assert.equal(group.pending(web), undefined);
  await group.stop();
  assert.equal(group.request(web, 'start'), true, 'as with monit, a stopped VM takes a start by hand');
  await machine.clock.advance(0);
  assert.equal(states(group), 'db running, web running, check running');
  await group.unmonitor();
});

test('restarts a failed service with all services that depend on it', async () => {
  const machine = new FakeMachine();
  const group = machine.chain(three);
  group.start();
  await machine.clock.advance(60);
  machine.traced();
  machine.end('web');
  await machine.clock.advance(10);
  assert.equal(machine.traced(), 'stop check, start web, start check');
  await group.unmonitor();
});

test('the monit command also acts on dependent services, and stopped services stay stopped', async () => {
  const machine = new FakeMachine();
  const group = machine.chain(three);
  group.start();
  await machine.clock.advance(0);
  machine.traced();
  const web = serviceOf(group, 'web');
  assert.equal(group.request(web, 'stop'), true);
  assert.equal(group.pending(web), 'stop');
  assert.equal(group.request(web, 'start'), false, 'another action waits');
  await machine.clock.advance(0);
  assert.equal(machine.traced(), 'stop check, stop web');
  assert.equal(states(group), 'db running, web unmonitored, check unmonitored');

  // A restarted agent.
  await group.unmonitor();
  const next = machine.chain(three);
  next.resume();
  await machine.clock.advance(30);
  assert.equal(states(next), 'db running, web unmonitored, check unmonitored');
  assert.equal(next.request(serviceOf(next, 'check'), 'start'), true);
  await machine.clock.advance(0);
  assert.equal(machine.traced(), 'start web, start check');
  assert.equal(next.request(serviceOf(next, 'db'), 'unmonitor'), true);
  await machine.clock.advance(0);
  assert.equal(states(next), 'db unmonitored, web unmonitored, check unmonitored');
  assert.equal(next.request(serviceOf(next, 'web'), 'monitor'), true);
  await machine.clock.advance(10);
  assert.equal(states(next), 'db running, web running, check unmonitored');
  assert.equal(machine.traced(), '');
  assert.equal(next.request(serviceOf(next, 'web'), 'restart'), true);
  await machine.clock.advance(0);
  assert.equal(machine.traced(), 'stop check, stop web, start web, start check');
  await next.unmonitor();
});

test('a rule acts when its cycles are reached, and counts from zero after a restart', async () => {
  const machine = new FakeMachine();
  const group = machine.chain(matched('web', 'if failed port 80 for 3 cycles then restart'));
  machine.connection = ({ target }) => ('port' in target && target.port === 80 ? 'refused' : undefined);
  group.start();
  await machine.clock.advance(29);
  assert.equal(machine.traced(), 'start web');
  assert.equal(states(group), 'web running');
  await machine.clock.advance(1);
  assert.equal(machine.traced(), 'stop web, start web');
  await machine.clock.advance(29);
  assert.equal(machine.traced(), '');
  machine.connection = () => undefined;
  await machine.clock.advance(60);
  assert.equal(machine.traced(), '');
  assert.ok(machine.log.some((line) => line.includes('\'web\': if failed host "localhost" port 80')));
  await group.unmonitor();
});

test('a failed rule runs its program in each cycle, and the program of its recovery once', async () => {
  const machine = new FakeMachine();
  const group = machine.chain(
    matched('web', 'if totalmem > 20 % then exec "/high" else if recovered for 2 cycles then exec "/low"'),
  );
  group.start();
  await machine.clock.advance(10);
  assert.equal(machine.traced(), 'start web');
  machine.usage.memoryKilobytes = 2010;
  await machine.clock.advance(20);
  assert.equal(machine.traced(), 'high, high');
  assert.equal(states(group), 'web failing');
  machine.usage.memoryKilobytes = 2009;
  await machine.clock.advance(10);
  assert.equal(machine.traced(), '');
  await machine.clock.advance(40);
  assert.equal(machine.traced(), 'low');
  assert.equal(states(group), 'web running');
  await group.unmonitor();
});

test('a rule with a number of events within cycles', async () => {
  const machine = new FakeMachine();
  const group = machine.chain(matched('web', 'if loadavg(5min) > 2 2 times within 4 cycles then stop'));
  group.start();
  for (const load of [3, 1, 1, 1, 3, 1]) {
    machine.load = [9, load, 9];
    await machine.clock.advance(10);
  }
  assert.equal(states(group), 'web running');
  machine.load = [0, 3, 0];
  await machine.clock.advance(10);
  assert.equal(machine.traced(), 'start web, stop web');
  assert.equal(states(group), 'web unmonitored');
});

test('measures the processor share between two cycles', async () => {
  const machine = new FakeMachine();
  const group = machine.chain(matched('web', 'if cpu > 50 % then exec "/busy"'));
  group.start();
  machine.usage.cpuSeconds = 100;
  await machine.clock.advance(20);
  machine.usage.cpuSeconds += 5;
  await machine.clock.advance(10);
  assert.equal(machine.traced(), 'start web');
  machine.usage.cpuSeconds += 6;
  await machine.clock.advance(10);
  assert.equal(machine.traced(), 'busy');
  await group.unmonitor();
});

test('too many restarts within cycles unmonitor a service and the services that depend on it', async () => {
  const machine = new FakeMachine();
  const group = machine.chain(
    matched('web', 'if 3 restarts within 5 cycles then timeout') + matched('check', 'depends on web'),
  );
  group.start();
  for (let cycle = 0; cycle < 6; cycle++) {
    await machine.clock.advance(10);
    machine.end('web');
  }
  assert.equal(states(group), 'web unmonitored, check unmonitored');
  const restarts = machine
    .traced()
    .split(', ')
    .filter((run) => run === 'start web');
  assert.equal(restarts.length, 4);
});

test('a restart within one cycle runs a program', async () => {
  const machine = new FakeMachine();
  const group = machine.chain(matched('web', 'if 1 restarts within 1 cycles then exec "/told web"'));
  group.start();
  await machine.clock.advance(30);
  machine.traced();
  machine.end('web');
  await machine.clock.advance(20);
  assert.equal(machine.traced(), 'start web, told web');
  await machine.clock.advance(100);
  assert.equal(machine.traced(), '');
  await group.unmonitor();
});

test('a missing service is handled by its own rule if it has one', async () => {
  const machine = new FakeMachine();
  const group = machine.chain(matched('web', 'if does not exist for 2 cycles then exec "/gone"'));
  group.start();
  await machine.clock.advance(0);
  machine.end('web');
  await machine.clock.advance(15);
  assert.equal(machine.traced(), 'start web');
  assert.equal(states(group), 'web failing');
  await machine.clock.advance(5);
  assert.equal(machine.traced(), 'gone');
  await group.unmonitor();
});

test('a passive service is started only by a command, and a restarted agent does not start a manual one', async () => {
  const machine = new FakeMachine();
  const text = matched('active') + matched('passive', 'mode passive') + matched('manual', 'mode manual');
  const group = machine.chain(text);
  group.resume();
  await machine.clock.advance(30);
  assert.equal(machine.traced(), 'start active');
  assert.match(states(group), /^active running, passive failing, manual unmonitored$/);
  group.start();
  await machine.clock.advance(0);
  assert.equal(machine.traced(), 'start passive, start manual');
  machine.end('passive');
  await machine.clock.advance(20);
  assert.equal(machine.traced(), '');
  assert.match(states(group), /passive failing/);
  await group.unmonitor();
});

test('checks a service only every n cycles', async () => {
  const machine = new FakeMachine();
  const group = machine.chain(matched('web', 'every 3 cycles if failed port 80 then exec "/failed"'));
  machine.connection = () => 'refused';
  group.start();
  await machine.clock.advance(29);
  assert.equal(machine.traced(), 'start web');
  await machine.clock.advance(1);
  assert.equal(machine.traced(), 'failed');
  await group.unmonitor();
});

test('checks a file for existence and changes, and a host for its ports', async () => {
  const machine = new FakeMachine();
  machine.files.set('/mark', { changedAt: 1, checksum: 'a' });
  const group = machine.chain(`check file mark path /mark
  start program "/make mark"
  group vcap
  if changed timestamp then exec "/touched"
  if changed sha1 checksum then exec "/rewritten"
check host near address 127.0.0.2
  group vcap
  if failed port 80 protocol http request "/health" then exec "/down"`);
  group.start();
  await machine.clock.advance(20);
  assert.equal(machine.traced(), 'make mark');
  assert.equal(states(group), 'mark running, near running');
  machine.files.set('/mark', { changedAt: 2, checksum: 'a' });
  machine.connection = ({ target, request }) => `${JSON.stringify(target)} ${request}`;
  await machine.clock.advance(10);
  assert.equal(machine.traced(), 'touched, down');
  assert.equal(states(group), 'mark failing, near failing');
  assert.ok(machine.log.some((line) => line.includes('{"host":"127.0.0.2","port":80} /health')));
  machine.connection = () => undefined;
  await machine.clock.advance(10);
  assert.equal(states(group), 'mark running, near running');
  machine.files.delete('/mark');
  await machine.clock.advance(10);
  assert.equal(machine.traced(), 'make mark');
  assert.equal(states(group), 'mark failing, near running');
  await group.unmonitor();
});

test('does not kill a matching process that its start program did not start', async () => {
  const machine = new FakeMachine();
  const group = machine.chain('check process web matching "^web$" group vcap');
  const stranger = { pid: 7, name: 'web', startTicks: 7, userIds: [1000], mark: undefined };
  machine.living.set('web', { ...stranger, startedAt: 0, memoryKilobytes: 1, cpuSeconds: 0 });
  group.start();
  await machine.clock.advance(10);
  assert.equal(states(group), 'web running');
  const stopped = assert.rejects(
    group.stop(),
    /process 'web' \(pid 7\) did not end: its start program did not/,
  );
  await machine.clock.advance(31);
  await stopped;
  assert.ok(machine.living.has('web'));
});
