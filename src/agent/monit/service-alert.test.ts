import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeMachine, matched } from '../testing/fake-machine.ts';

/** Runs one service until it is up, lets `during` make it fail, and returns the alerts. */
async function alertsOf(
  clauses: string,
  during: (machine: FakeMachine) => Promise<void> | void,
  text = matched('web', clauses),
): Promise<string> {
  const machine = new FakeMachine();
  const group = machine.chain(text);
  group.start();
  await machine.clock.advance(20);
  assert.equal(machine.alerted(), '');
  await during(machine);
  await group.unmonitor();
  return machine.alerted();
}

test('a rule alerts once when it fails, and once again after it has recovered', async () => {
  const rule = 'if loadavg > 4 for 2 cycles then alert else if recovered for 2 cycles then exec "/low"';
  const loads = [5, 5, 5, 5, 3, 5, 5, 3, 3, 3, 5, 5, 5];
  const alerts = await alertsOf(rule, async (machine) => {
    for (const load of loads) {
      machine.load = [load, 0, 0];
      await machine.clock.advance(10);
    }
    assert.equal(machine.traced(), 'start web, low');
  });
  assert.equal(alerts, 'web: Resource limit matched - alert, web: Resource limit matched - alert');
});

test('a rule that restarts alerts once until it has recovered', async () => {
  const alerts = await alertsOf('if failed port 80 then restart', async (machine) => {
    for (const problem of ['refused', 'refused', 'refused', undefined, 'refused', 'refused']) {
      machine.connection = () => problem;
      await machine.clock.advance(10);
    }
    assert.match(machine.traced(), /(stop web, start web.*){5}/u);
  });
  assert.equal(alerts, 'web: Connection failed - restart, web: Connection failed - restart');
});

test('each change alerts', async () => {
  const text = 'check file mark path /mark group vcap if changed timestamp then exec "/touched"';
  const machine = new FakeMachine();
  machine.files.set('/mark', { changedAt: 1, checksum: 'a' });
  const group = machine.chain(text);
  group.start();
  await machine.clock.advance(20);
  for (const changedAt of [2, 3, 3, 3]) {
    machine.files.set('/mark', { changedAt, checksum: 'a' });
    await machine.clock.advance(10);
  }
  await group.unmonitor();
  assert.equal(machine.alerted(), 'mark: Timestamp changed - exec, mark: Timestamp changed - exec');
});

test('a missing service alerts with what the agent does about it', async () => {
  const end = async (machine: FakeMachine): Promise<void> => {
    machine.end('web');
    await machine.clock.advance(25);
  };
  assert.equal(await alertsOf('', end), 'web: Does not exist - restart');
  assert.equal(await alertsOf('mode passive', end), 'web: Does not exist - alert');
  const own = 'if does not exist for 3 cycles then alert';
  assert.equal(await alertsOf(own, end), '');
  assert.equal(
    await alertsOf(own, async (machine) => {
      await end(machine);
      await machine.clock.advance(60);
    }),
    'web: Does not exist - alert',
  );
  assert.equal(
    await alertsOf('mode passive if failed port 80 then restart', async (machine) => {
      machine.connection = () => 'refused';
      await machine.clock.advance(30);
    }),
    'web: Connection failed - alert',
  );
});

test('starts that fail alert once, and a limit of restarts once', async () => {
  const text = matched('web').replace('/start web', '/fail web');
  const machine = new FakeMachine();
  const group = machine.chain(text);
  group.start();
  await machine.clock.advance(120);
  assert.match(machine.traced(), /(fail web.*){4}/u);
  assert.equal(machine.alerted(), 'web: Execution failed - alert, web: Does not exist - restart');
  await group.unmonitor();
  const rule = 'if 2 restarts within 10 cycles then exec "/often"';
  const alerts = await alertsOf(rule, async (other) => {
    for (let ends = 0; ends < 4; ends++) {
      other.end('web');
      await other.clock.advance(10);
    }
    assert.match(other.traced(), /(often.*){2}/u);
  });
  assert.deepEqual(
    alerts.split(', ').filter((line) => line.includes('Timeout')),
    ['web: Timeout - exec'],
  );
});
