import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { isObject } from '../../platform/json.ts';
import { eventually } from '../testing/eventually.ts';
import { specWith } from '../testing/specs.ts';
import { TestVm } from '../testing/test-vm.ts';

test('the next start waits for a stop program that removes the pidfile late', async (t) => {
  const vm = await TestVm.create();
  t.after(() => vm.remove());
  const client = await vm.start();
  const pidfile = `${vm.directories.run}/web/web.pid`;
  const monit = `check process web with pidfile ${pidfile}
  start program "${vm.directories.jobs}/web/bin/ctl start"
  stop program "${vm.directories.jobs}/web/bin/ctl stop"
  group vcap
`;
  const ctl = `#!/bin/bash
if [ "$1" = start ]; then
  sleep 1000 </dev/null >/dev/null 2>&1 &
  echo $! > ${pidfile}
else
  kill "$(cat ${pidfile})"
  sleep 1
  rm ${pidfile}
  echo removed
fi
`;
  await client.task('apply', await specWith(client, { './web/monit': monit, './web/bin/ctl': ctl }));
  const running = (): Promise<true> =>
    eventually('a running job', async () => {
      const state = await client.value('get_state');
      return isObject(state) && state['job_state'] === 'running' ? true : undefined;
    });
  await client.value('start');
  await running();

  await client.task('stop');

  assert.equal(await readFile(`${vm.directories.monitLog}/web.log`, 'utf8'), 'removed\n');
  await assert.rejects(readFile(pidfile), { code: 'ENOENT' });
});
