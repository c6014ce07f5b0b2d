import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { once } from 'node:events';
import { join } from 'node:path';
import { test } from 'node:test';
import { eventually } from '../testing/eventually.ts';
import { pidOf, reaches, specWith } from '../testing/specs.ts';
import { TestVm } from '../testing/test-vm.ts';

test('real processes start in order, restart together, and stop in reverse order', async (t) => {
  const vm = await TestVm.create();
  t.after(() => vm.remove());
  const server = createServer((socket) => void socket.end());
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  const { port } = server.address() as AddressInfo;
  const { run, jobs, log } = vm.directories;
  const trace = join(log, 'db/trace');
  const job = (name: string, clauses: string): Record<string, string> => ({
    [`./${name}/monit`]: `check process ${name} with pidfile ${run}/${name}/${name}.pid
  start program "${jobs}/${name}/bin/ctl start" with timeout 20 seconds
  stop program "${jobs}/${name}/bin/ctl stop"
  group vcap
  ${clauses}
`,
    [`./${name}/bin/ctl`]: `#!/bin/bash
echo "$1 ${name}" >> ${trace}
case "$1" in
  start) setsid sleep 1000 & echo $! > ${run}/${name}/${name}.pid ;;
  stop) kill "$(cat ${run}/${name}/${name}.pid)" ;;
esac
`,
  });
  const client = await vm.start();
  const rules = `if failed host 127.0.0.1 port ${port} type tcp for 2 cycles then restart`;
  await client.task(
    'apply',
    await specWith(client, {
      ...job('web', `depends on db ${rules}`),
      ...job('db', 'if totalmem > 90 % then alert'),
    }),
  );
  await client.value('start');
  await reaches(client, 'running');
  const traced = async (count: number): Promise<string> => {
    const lines = (await readFile(trace, 'utf8')).trimEnd().split('\n');
    return lines.slice(-count).join(', ');
  };
  assert.equal(await traced(9), 'start db, start web');

  const web = await pidOf(vm, 'web');
  process.kill(await pidOf(vm, 'db'), 'SIGKILL');
  await eventually('another web', async () => ((await pidOf(vm, 'web')) === web ? undefined : true));
  await reaches(client, 'running');
  assert.equal(await traced(3), 'stop web, start db, start web');

  await client.task('stop');
  assert.equal(await traced(2), 'stop web, stop db');
});
