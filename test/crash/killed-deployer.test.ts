import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import {
  assertConverged,
  assertKilled,
  assertNothingLeft,
  assertSucceeded,
  killCases,
} from './support/converged.ts';
import { OperatorEnvironment } from './support/operator-environment.ts';
import { CpiControl, killingCpi } from './support/killing-cpi.ts';
import { killHard, processesOf } from '../support/machine.ts';
import { until } from '../support/until.ts';

const creation = [
  'info',
  'create_stemcell',
  'check_vm',
  'create_vm',
  'set_vm_metadata',
  'create_disk',
  'attach_disk',
  'set_disk_metadata',
];
const deletion = ['info', 'has_disk', 'has_vm', 'delete_vm', 'delete_disk', 'delete_stemcell'];

let line: OperatorEnvironment;
let control: CpiControl;

before(async () => {
  line = await OperatorEnvironment.prepare({ address: '127.64.78.10', cpi: killingCpi });
  control = new CpiControl(line.controlDirectory);
  assertSucceeded(await line.command(['cluster', 'start']));
});
after(() => line.remove());

test('a deployer that is not killed makes these calls, and delete-env leaves nothing', async () => {
  await control.killNever();
  assertSucceeded(await line.createEnv());
  assert.deepEqual(await control.calls(), creation);
  await assertConverged(line);

  await control.killNever();
  assertSucceeded(await line.deleteEnv());
  assert.deepEqual(await control.calls(), deletion);
  await assertNothingLeft(line);
});

test('after a kill -9 of everything up brings the same VM back, and no CPI call creates anything', async () => {
  assertSucceeded(await line.createEnv());
  const content = await assertConverged(line);
  const state = await line.state();
  await control.killNever();
  const processes = await processesOf(line.directory);
  for (const { pid } of processes) killHard(pid);
  await until('the end of everything', async () => (await processesOf(line.directory)).length === 0);

  assertSucceeded(await line.up());

  assert.deepEqual(
    (await control.calls()).filter((method) => method.startsWith('create_')),
    [],
  );
  assert.ok(processes.length > 3, 'no pod ran');
  assert.deepEqual(await line.state(), state);
  assert.equal(await assertConverged(line), content);
  assertSucceeded(await line.deleteEnv());
  await assertNothingLeft(line);
});

// Each deployment that survives a kill is deleted by a delete-env that is also killed.
const deletions = killCases(deletion);
for (const [index, { call, method, moment }] of killCases(creation).entries()) {
  const lost = method === 'create_disk' ? 1 : 0;

  test(`killed ${moment} ${method} of a first deploy, the next run has one VM and one disk`, async () => {
    await control.killAt(call, moment);
    assertKilled(await line.createEnv());
    assert.equal((await control.calls()).at(-1), method);

    await control.killNever();
    assertSucceeded(await line.createEnv());
    await assertConverged(line, { unclaimed: lost });
  });

  const end = deletions[index];
  const how = end === undefined ? 'not killed' : `killed ${end.moment} ${end.method}`;
  test(`${how}, delete-env leaves nothing in the end (after ${moment} ${method})`, async () => {
    const current = (await line.state()).disks[0]?.cid;
    if (end !== undefined) {
      await control.killAt(end.call, end.moment);
      assertKilled(await line.deleteEnv());
      assert.equal((await control.calls()).at(-1), end.method);
    }
    await control.killNever();
    const deleted = await line.deleteEnv();
    assertSucceeded(deleted);
    // A disk whose response was lost may only be deleted by the operator, who is warned of it.
    if (method === 'create_disk') assert.match(deleted.stderr, /may exist unclaimed/);
    const { disks } = await line.objects();
    assert.equal(disks.length, lost);
    for (const cid of disks) {
      assert.notEqual(cid, current);
      await line.kubectl('delete', 'pvc', cid);
    }
    await assertNothingLeft(line);
  });
}
