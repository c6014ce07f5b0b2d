import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { procProcessTable } from '../process/process-table.ts';
import { eventually } from '../testing/eventually.ts';
import { hostileUser, hostileUserIsMissing, identitiesWithVcap } from '../testing/hostile-user.ts';
import { reaches, specWith } from '../testing/specs.ts';
import { TestVm } from '../testing/test-vm.ts';

const skip = hostileUserIsMissing;

test('a process of pre-start that the start program leaves running is supervised', { skip }, async (t) => {
  const vm = await TestVm.create(identitiesWithVcap);
  t.after(() => vm.remove());
  const { jobs, log, run } = vm.directories;
  const [ctl, pids] = [join(jobs, 'dns/bin/ctl'), join(run, 'dns')];
  const check = (name: string): string => `check process ${name} with pidfile ${pids}/${name}.pid
  start program "${ctl} start ${name}" with timeout 5 seconds
  stop program "${ctl} stop ${name}"
  group vcap
`;
  const files = {
    './dns/monit': check('resolver') + check('health'),
    // As bosh-dns does: the job's user gets the folder and the pidfiles, and one of the processes is root's.
    './dns/bin/ctl': `#!/bin/bash
chown -R ${hostileUser.uid}:${hostileUser.gid} ${pids}
echo "$@" >> ${log}/dns/trace
cd ${pids}
if [ "$1" = stop ]; then kill "$(cat $2.pid)"; rm $2.pid; exit; fi
[ -e $2.pid ] && kill -0 "$(cat $2.pid)" && exit 0
case $2 in
  resolver) setsid sleep 1000 & ;;
  health) setsid setpriv --reuid ${hostileUser.uid} --regid ${hostileUser.gid} --clear-groups sleep 1000 & ;;
esac
echo $! > $2.pid
`,
    './dns/bin/pre-start': `#!/bin/bash\n${ctl} start health\n${ctl} start resolver\n`,
  };
  const pidOf = async (name: string): Promise<number> => Number(await readFile(join(pids, `${name}.pid`)));
  let client = await vm.start();
  await client.task('apply', await specWith(client, files));
  await client.task('run_script', 'pre-start', {});
  const both = [await pidOf('resolver'), await pidOf('health')];
  // The next agent starts the jobs and has only the record of the mark.
  await vm.stop();
  client = await vm.start();
  await reaches(client, 'running');
  assert.deepEqual([await pidOf('resolver'), await pidOf('health')], both);

  process.kill(both[0] ?? 0, 'SIGKILL');
  await eventually('another process', async () => ((await pidOf('resolver')) === both[0] ? undefined : true));
  await reaches(client, 'running');
  both.push(await pidOf('resolver'));
  await client.task('stop');
  assert.deepEqual(await Promise.all(both.map((pid) => procProcessTable.find(pid))), [
    undefined,
    undefined,
    undefined,
  ]);
  assert.match(await readFile(join(log, 'dns/trace'), 'utf8'), /stop resolver\n/u);
});
