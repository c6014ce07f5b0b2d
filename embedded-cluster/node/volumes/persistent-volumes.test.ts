import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { link, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { isProductError } from '../../../src/errors/product-error.ts';
import { systemClock, type Clock } from '../../../src/platform/clock.ts';
import { nodeLayout } from '../node-paths.ts';
import { describeInNamespace } from '../testing/in-namespace.ts';
import { PersistentVolumes } from './persistent-volumes.ts';

async function volumesOf(
  t: TestContext,
  clock: Clock = systemClock,
): Promise<{ volumes: PersistentVolumes; directory: string }> {
  const directory = await mkdtemp(join(tmpdir(), 'bosh-kubernetes-volumes-'));
  t.after(() => rm(directory, { recursive: true }));
  await mkdir(join(directory, 'volumes'));
  return { volumes: new PersistentVolumes(nodeLayout(directory), clock), directory };
}

describeInNamespace(import.meta.filename, () => {
  test('a snapshot and a restored volume are copies with content, modes, links and holes', async (t) => {
    const { volumes } = await volumesOf(t);
    const source = await volumes.provision('pvc-a');
    await mkdir(join(source, 'store'), { mode: 0o750 });
    await writeFile(join(source, 'store', 'data'), 'old', { mode: 0o640 });
    await link(join(source, 'store', 'data'), join(source, 'hard'));
    await symlink('store/data', join(source, 'soft'));
    await volumes.takeSnapshot('snap-1', 'pvc-a');
    await writeFile(join(source, 'store', 'data'), 'new');
    await volumes.takeSnapshot('snap-1', 'pvc-a');

    const restored = await volumes.provision('pvc-b', { snapshot: 'snap-1' });
    assert.equal(await readFile(join(restored, 'soft'), 'utf8'), 'old');
    assert.equal((await stat(join(restored, 'store'))).mode & 0o777, 0o750);
    assert.equal((await stat(join(restored, 'hard'))).nlink, 2);
    const cloned = await volumes.provision('pvc-c', { volume: 'pvc-a' });
    assert.equal(await readFile(join(cloned, 'hard'), 'utf8'), 'new');
  });

  test('a repeated restore keeps data written in the meantime, and the deletion of a snapshot keeps its restored volumes', async (t) => {
    const { volumes, directory } = await volumesOf(t);
    await writeFile(join(await volumes.provision('pvc-a'), 'data'), 'old');
    await volumes.takeSnapshot('snap-1', 'pvc-a');
    const restored = await volumes.provision('pvc-b', { snapshot: 'snap-1' });
    await writeFile(join(restored, 'data'), 'mine');
    await volumes.provision('pvc-b', { snapshot: 'snap-1' });
    await volumes.removeSnapshot('snap-1');
    await volumes.removeSnapshot('snap-1');
    assert.equal(await readFile(join(restored, 'data'), 'utf8'), 'mine');
    assert.deepEqual(await readdir(join(directory, 'volumes', '.snapshots')), []);
    assert.deepEqual(await readdir(join(directory, 'volumes', '.trash')), []);
  });

  test('a volume that is written all the time is not copied, and no partial copy stays', async (t) => {
    let file = '';
    let count = 0;
    const writing: Clock = {
      ...systemClock,
      // The time is far ahead, so that the volume looks unchanged. Each read of the clock writes to the
      // volume.
      now: () => {
        count += 1;
        writeFileSync(file, String(count));
        return Date.now() + 60_000;
      },
    };
    const { volumes, directory } = await volumesOf(t, writing);
    const source = await volumes.provision('pvc-a');
    file = join(source, 'log');
    await assert.rejects(volumes.takeSnapshot('snap-1', 'pvc-a'), (error) => {
      assert.ok(isProductError(error, 'VOLUME_BUSY'), String(error));
      return true;
    });
    assert.deepEqual(await readdir(join(directory, 'volumes', '.snapshots')), []);
    assert.deepEqual(await readdir(join(directory, 'volumes', '.trash')), []);
  });

  test('a partial copy of an earlier run is removed at the start', async (t) => {
    const { volumes, directory } = await volumesOf(t);
    await mkdir(join(directory, 'volumes', '.trash', 'half'), { recursive: true });
    await writeFile(join(directory, 'volumes', '.trash', 'half', 'data'), 'x');
    await volumes.emptyTrash();
    assert.deepEqual(await readdir(join(directory, 'volumes')), []);
  });

  test('the only parameter is permissions of the root directory', async (t) => {
    const { volumes } = await volumesOf(t);
    const path = await volumes.provision('pvc-a');
    await volumes.modify('pvc-a', { permissions: '0711' });
    assert.equal((await stat(path)).mode & 0o7777, 0o711);
    for (const parameters of [{ iops: '3000' }, { permissions: '9' }]) {
      await assert.rejects(volumes.modify('pvc-a', parameters), /no parameter/u);
    }
  });

  test('names that lead out of the directory are refused', async (t) => {
    const { volumes } = await volumesOf(t);
    for (const name of ['../x', '.trash', '', 'a/b']) {
      await assert.rejects(volumes.provision(name), /cannot be the name/u);
      await assert.rejects(volumes.provision('pvc-a', { snapshot: name }), /cannot be the name/u);
      await assert.rejects(volumes.takeSnapshot(name, 'pvc-a'), /cannot be the name/u);
      await assert.rejects(volumes.removeSnapshot(name), /cannot be the name/u);
    }
  });
});
