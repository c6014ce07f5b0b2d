import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { procProcessTable } from '../process/process-table.ts';
import { isObject } from '../../platform/json.ts';
import type { AgentClient } from '../testing/agent-client.ts';
import { eventually } from '../testing/eventually.ts';
import { hostileUser, hostileUserIsMissing } from '../testing/hostile-user.ts';
import { jobState, reaches, specWith } from '../testing/specs.ts';
import { TestVm } from '../testing/test-vm.ts';

interface Scene {
  readonly client: AgentClient;
  readonly pidOf: (name: 'one' | 'two') => Promise<number>;
  /** Returns how often the start program has run. */
  readonly starts: () => Promise<number>;
}

/**
 * A job whose program starts two daemons of root, the second a while after the first, with pidfiles of root
 * in a directory of a job user. `second` returns the clauses of the second check, besides its pidfile.
 */
async function scene(t: TestContext, second: (start: string) => string): Promise<Scene> {
  const vm = await TestVm.create();
  t.after(() => vm.remove());
  const { run, jobs, log } = vm.directories;
  const [pids, trace, ctl] = [join(run, 'pair'), join(log, 'pair/trace'), join(jobs, 'pair/bin/ctl')];
  const start = `start program "${ctl} start" with timeout 10 seconds`;
  const client = await vm.start();
  const files = {
    './pair/monit': `check process one with pidfile ${pids}/one.pid
  ${start}
  stop program "${ctl} stop"
  group vcap
check process two with pidfile ${pids}/two.pid
  ${second(start)}
  group vcap
`,
    './pair/bin/ctl': `#!/bin/bash
cd ${pids} && chown ${hostileUser.uid} .
case "$1" in
  start)
    echo start >> ${trace}
    for name in one two; do
      kill -0 "$(cat $name.pid)" && continue
      setsid sleep 1000 & echo $! > $name.pid
      sleep 0.5
    done ;;
  stop) kill $(cat *.pid) ;;
esac
exit 0
`,
  };
  await client.task('apply', await specWith(client, files));
  await client.value('start');
  return {
    client,
    pidOf: async (name) => Number(await readFile(join(pids, `${name}.pid`), 'utf8')),
    starts: async () => (await readFile(trace, 'utf8')).trimEnd().split('\n').length,
  };
}

const isAlive = async (pid: number): Promise<boolean> => (await procProcessTable.find(pid)) !== undefined;

const skip = hostileUserIsMissing;

test(
  'one run of a shared start program starts two services, and another run restarts each',
  { skip },
  async (t) => {
    const { client, pidOf, starts } = await scene(t, (start) => start);
    await reaches(client, 'running');
    assert.equal(await starts(), 1);

    const [one, two] = [await pidOf('one'), await pidOf('two')];
    process.kill(two, 'SIGKILL');
    await eventually('another process', async () => ((await pidOf('two')) === two ? undefined : true));
    await reaches(client, 'running');
    assert.deepEqual([await starts(), await pidOf('one')], [2, one]);

    const both = [one, await pidOf('two')];
    await client.task('stop');
    assert.deepEqual(await Promise.all(both.map(isAlive)), [false, false]);
  },
);

test('a process without a start program is started and stopped by another service', { skip }, async (t) => {
  const { client, pidOf, starts } = await scene(t, () => '');
  await reaches(client, 'running');
  const both = [await pidOf('one'), await pidOf('two')];
  assert.equal(await starts(), 1);
  await client.task('stop');
  assert.deepEqual(await Promise.all(both.map(isAlive)), [false, false]);
});

test('ignores a process of another start program, and get_state shows the reason', { skip }, async (t) => {
  const { client, pidOf } = await scene(t, () => 'start program "/bin/true" with timeout 1 second');
  await eventually('failing', async () => ((await jobState(client)) === 'failing' ? true : undefined));
  const state = await client.value('get_state');
  assert.ok(isObject(state) && Array.isArray(state['processes']));
  const [one, two] = state['processes'] as Record<string, unknown>[];
  const status = [two?.['job'], two?.['state'], two?.['last_exit']];
  assert.deepEqual([one?.['state'], ...status], ['running', 'pair', 'failing', 'exited with 0']);
  const expected = `pid ${await pidOf('two')} is neither a process of that user nor one that its start program or a script of its job started`;
  assert.match(
    String(two?.['problem']),
    new RegExp(`belongs to user 0, and ${expected}.*same start program`),
  );
});
