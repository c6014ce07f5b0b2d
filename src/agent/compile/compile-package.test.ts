import assert from 'node:assert/strict';
import { readlink, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { readFileIfPresent } from '../file/files.ts';
import { procProcessTable } from '../process/process-table.ts';
import { isObject } from '../../platform/json.ts';
import { eventually } from '../testing/eventually.ts';
import { upload } from '../testing/specs.ts';
import { TestVm } from '../testing/test-vm.ts';

test('a failed compilation reports its exit and last output, and leaves nothing', async (t) => {
  const vm = await TestVm.create();
  t.after(() => vm.remove());
  const client = await vm.start();
  const digest = await upload(client, 'source', { packaging: 'echo to stdout\necho to stderr >&2\nexit 7' });
  await assert.rejects(
    client.task('compile_package', 'source', digest, 'broken', '1', {}),
    /Command exited with 7;\nStdout: to stdout\n,\nStderr: [^]*to stderr/,
  );
  await assert.rejects(
    client.task('compile_package', 'source', 'sha256:'.padEnd(71, '0'), 'broken', '1', {}),
    /source of package 'broken' \(blob 'source'\) has sha256/,
  );
  await assert.rejects(client.task('compile_package', 'gone', digest, 'broken', '1', {}), /no blob 'gone'/);
  await assert.rejects(client.task('compile_package', 'source', digest, '../up', '1', {}), /not a name/);
  await assert.rejects(readlink(join(vm.directories.packages, 'broken')), /ENOENT/);
  await assert.rejects(stat(join(vm.directories.compile, 'broken')), /ENOENT/);
});

test('a cancelled compilation ends its processes', async (t) => {
  const vm = await TestVm.create();
  t.after(() => vm.remove());
  const client = await vm.start();
  const pidFile = join(vm.directories.base, 'packaging.pid');
  const digest = await upload(client, 'source', {
    packaging: `sleep 1000 &\necho $! > ${pidFile}.new\nmv ${pidFile}.new ${pidFile}\nwait`,
  });
  const begun = await client.value('compile_package', 'source', digest, 'endless', '1', {});
  assert.ok(isObject(begun));
  const pid = Number(await eventually('the packaging script', () => readFileIfPresent(pidFile)));
  assert.equal(await client.value('cancel_task', begun['agent_task_id']), 'canceled');
  await assert.rejects(
    eventually('the end', async () => {
      const now = await client.value('get_task', begun['agent_task_id']);
      return isObject(now) ? undefined : now;
    }),
    /Command was ended by SIGTERM/,
  );
  await eventually('its end', async () =>
    (await procProcessTable.find(pid)) === undefined ? true : undefined,
  );
  await assert.rejects(client.value('cancel_task', 'none'), /could not be found/);
});
