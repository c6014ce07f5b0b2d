import assert from 'node:assert/strict';
import { mkdir, readFile, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { isProductError } from '../../errors/product-error.ts';
import { scratchDirectory } from '../testing/scratch.ts';
import { DeploymentFiles } from './deployment-files.ts';
import { PendingFile } from './pending-file.ts';
import { recordVm } from './state-changes.ts';
import { StateFile, statePathFor } from './state-file.ts';

const uuids = () => {
  let count = 0;
  return () => `uuid-${(count += 1)}`;
};

test('is beside the manifest by default', async () => {
  assert.equal(await statePathFor('/a/manifest.yml'), '/a/manifest-state.json');
  assert.equal(await statePathFor('/a/manifest.yml', '/b/state.json'), '/b/state.json');
});

test('a symbolic link is resolved to its file, existing or not, through any directories', async (t) => {
  const directory = await scratchDirectory(t);
  const real = join(directory, 'vault', 'state.json');
  await mkdir(join(directory, 'vault'));
  await symlink('vault', join(directory, 'safe'));
  await symlink('safe/second', join(directory, 'manifest-state.json'));
  await symlink('state.json', join(directory, 'vault', 'second'));
  const manifestPath = join(directory, 'manifest.yml');

  assert.equal(await statePathFor(manifestPath), real);
  await writeFile(real, '{}');
  assert.equal(await statePathFor(manifestPath), real);
});

test('a new file has its ids at once, and only its owner can read it', async (t) => {
  const path = join(await scratchDirectory(t), 'state.json');

  await StateFile.open(path, uuids());

  const again = await StateFile.open(path, () => assert.fail('ids are made once'));
  assert.equal(again.state.director_id, 'uuid-1');
  assert.equal(again.state.installation_id, 'uuid-2');
  assert.equal((await stat(path)).mode & 0o777, 0o600);
});

test('every change is on disk when its promise resolves', async (t) => {
  const path = join(await scratchDirectory(t), 'state.json');
  const file = await StateFile.open(path, uuids());

  await file.change(recordVm({ cid: 'vm-1', agentId: 'agent-1', stemcellId: 'stemcell-1' }));

  assert.match(await readFile(path, 'utf8'), /"current_vm_cid": "vm-1"/);
});

test('ignores an incomplete temporary file of a killed run', async (t) => {
  const path = join(await scratchDirectory(t), 'state.json');
  await writeFile(`${path}.new`, '{"director_id": "ha');

  const file = await StateFile.open(path, uuids());

  assert.equal(file.state.director_id, 'uuid-1');
});

test('the pending file survives the run and is removed when nothing is pending', async (t) => {
  const path = join(await scratchDirectory(t), 'state.json');
  await StateFile.open(path, uuids());
  const pending = await PendingFile.open(path);

  await pending.setVm({ agent_id: 'agent-1', arguments_sha256: 'abc' });
  await pending.addDisk({ id: 'd', size: 64, vm_cid: 'vm-1', requested_at: 'now' });
  const known = await new DeploymentFiles(path).readKnownResources();
  assert.equal(known?.pendingAgentId, 'agent-1');
  assert.deepEqual(
    known?.unconfirmedDisks.map(({ id }) => id),
    ['d'],
  );

  await pending.removeDisk('d');
  await pending.setVm(undefined);
  await assert.rejects(readFile(pending.path), { code: 'ENOENT' });
});

test('an invalid pending file is an error, because it may name a VM', async (t) => {
  const path = join(await scratchDirectory(t), 'state.json');
  await writeFile(`${path}.pending`, '{"vm":{}}');

  await assert.rejects(PendingFile.open(path), (error) => isProductError(error, 'STATE_INVALID'));
});

test('a directory or a loop of links at the path of the state file is an error that names it', async (t) => {
  const directory = await scratchDirectory(t);
  const round = join(directory, 'round');
  await symlink('round', round);

  for (const path of [directory, round])
    await assert.rejects(
      new DeploymentFiles(path).readKnownResources(),
      (error) => isProductError(error, 'STATE_INVALID') && error.message.includes(path),
    );
});

test('no resource is known without a state file', async (t) => {
  const files = new DeploymentFiles(join(await scratchDirectory(t), 'state.json'));
  assert.equal(await files.readKnownResources(), undefined);
});
