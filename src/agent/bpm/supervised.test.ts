import assert from 'node:assert/strict';
import { mkdir, readFile, readlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { procProcessTable } from '../process/process-table.ts';
import { eventually } from '../testing/eventually.ts';
import { hostileUserIsMissing, identitiesWithVcap } from '../testing/hostile-user.ts';
import { reaches, specWith } from '../testing/specs.ts';
import { TestVm } from '../testing/test-vm.ts';

const options = { skip: hostileUserIsMissing, timeout: 120_000 };
const harness = join(import.meta.dirname, '../testing/bpm-with-vcap.ts');

function release(base: string): Record<string, string> {
  return {
    './bpm/monit': '',
    './bpm/bin/bpm': '#!/bin/sh\necho "runc: operation not permitted" >&2\nexit 1\n',
    './queue/monit': `check process queue
  with pidfile ${base}/sys/run/bpm/queue/queue.pid
  start program "${base}/jobs/bpm/bin/bpm start queue"
  stop program "${base}/jobs/bpm/bin/bpm stop queue"
  group vcap
`,
    './queue/config/bpm.yml': `processes:
- name: queue
  executable: /bin/sh
  args: [-c, "echo ready; exec sleep 1000"]
`,
  };
}

test('the agent starts, restarts and stops a job with a bpm.yml', options, async (t) => {
  const vm = await TestVm.create(identitiesWithVcap);
  const { base, bosh, run } = vm.directories;
  const pidPath = join(run, 'bpm/queue/queue.pid');
  const pid = async (): Promise<number> => Number(await readFile(pidPath, 'utf8').catch(() => ''));
  t.after(async () => {
    await vm.stop();
    const live = await procProcessTable.find(await pid());
    if (live?.mark !== undefined) await procProcessTable.signal(live, 'SIGKILL');
    await vm.remove();
  });
  await mkdir(join(bosh, 'bin'));
  const bpmReplacement = join(bosh, 'bin/bpm');
  await writeFile(bpmReplacement, `#!/bin/sh\nexec ${process.execPath} ${harness} ${base} "$@"\n`, {
    mode: 0o755,
  });
  const client = await vm.start();
  await client.task('apply', await specWith(client, release(base)));
  assert.equal(await readlink(join(base, 'jobs/bpm/bin/bpm')), bpmReplacement);
  await client.value('start');
  await reaches(client, 'running');
  const first = await pid();
  process.kill(first, 'SIGKILL');
  await eventually('another one', async () => ((await pid()) !== first && (await pid()) > 0) || undefined);
  await reaches(client, 'running');
  const second = await pid();
  await vm.stop();
  const again = await vm.start();
  await reaches(again, 'running');
  assert.equal(await pid(), second, 'it outlives the agent');
  await again.task('stop');
  assert.equal(await procProcessTable.find(second), undefined);
});

test('without the replacement of the embedded node, bpm stays as its release installed it', async (t) => {
  const vm = await TestVm.create();
  t.after(() => vm.remove());
  const { base } = vm.directories;
  const client = await vm.start();
  await client.task('apply', await specWith(client, release(base)));
  assert.match(await readFile(join(base, 'jobs/bpm/bin/bpm'), 'utf8'), /runc/);
});
