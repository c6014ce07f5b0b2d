import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { assertConverged, assertKilled, assertSucceeded, killCases } from './support/converged.ts';
import { OperatorEnvironment } from './support/operator-environment.ts';
import { CpiControl, killingCpi } from './support/killing-cpi.ts';

const recreation = [
  'info',
  'has_disk',
  'check_vm',
  'has_vm',
  'delete_vm',
  'create_vm',
  'set_vm_metadata',
  'attach_disk',
  'set_disk_metadata',
];

let line: OperatorEnvironment;
let control: CpiControl;
let content: string;
let edition = 0;

/**
 * Edits the manifest so that the next deploy replaces the VM. Its job's response was written to the disk by
 * the first VM.
 */
async function changeManifest(): Promise<void> {
  edition += 1;
  await line.edit((text) => text.replace(/audience: .*/, `audience: readers of edition ${edition}`));
}

before(async () => {
  line = await OperatorEnvironment.prepare({ address: '127.64.78.20', cpi: killingCpi });
  control = new CpiControl(line.controlDirectory);
  await control.killNever();
  assertSucceeded(await line.command(['cluster', 'start']));
  assertSucceeded(await line.createEnv());
  content = await line.jobResponse();
});
after(() => line.remove());

test('a changed manifest makes these calls', async () => {
  await changeManifest();
  await control.killNever();
  assertSucceeded(await line.createEnv());
  assert.deepEqual(await control.calls(), recreation);
  assert.equal(await assertConverged(line), content);
});

for (const { call, method, moment } of killCases(recreation)) {
  test(`killed ${moment} ${method} of a recreate, the next run has one VM with the same disk`, async () => {
    const { disks, current_vm_cid: previous } = await line.state();
    await changeManifest();
    await control.killAt(call, moment);
    assertKilled(await line.createEnv());
    assert.equal((await control.calls()).at(-1), method);

    await control.killNever();
    assertSucceeded(await line.createEnv());

    assert.equal(await assertConverged(line), content);
    const state = await line.state();
    assert.deepEqual(state.disks, disks);
    assert.notEqual(state.current_vm_cid, previous);
  });
}
