import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { cp, mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { createDisk } from '../../src/cpi/disk/create-disk.ts';
import { deleteVm } from '../../src/cpi/vm/delete-vm.ts';
import { checkout } from '../support/embedded-environment.ts';
import { runWell } from '../support/run.ts';
import { describeCluster } from './support/describe-cluster.ts';
import { keepParametersRead } from './support/disks-namespace.ts';
import { survivesDetach } from './support/detach-scenarios.ts';
import { withoutNodes } from './test-cluster.ts';

describeCluster('manifests/cluster', (world) => {
  test(
    'kubectl apply -k creates all objects, a second apply changes nothing, and its volumes serve as disks',
    withoutNodes,
    async (t) => {
      const { api, cloud, cluster } = world();
      await keepParametersRead(api);
      const own = `apply-${randomUUID().slice(0, 8)}`;
      const folder = await manifestsNamed(own);
      const kubectl = (...args: readonly string[]): Promise<string> =>
        runWell([...cluster.kubectl, ...args, '-k', join(folder, 'cluster')]);
      t.after(async () => {
        await kubectl('delete', '--ignore-not-found', '--wait=false');
        await rm(folder, { recursive: true });
      });
      const created = linesOf(await kubectl('apply'));
      for (const line of created) assert.match(line, / created$/u);
      const volumes = created.filter((line) => line.startsWith('persistentvolume/'));
      assert.equal(volumes.length, 16);
      const again = linesOf(await kubectl('apply'));
      assert.deepEqual(
        again,
        created.map((line) => line.replace(/created$/u, 'unchanged')),
      );
      const { vm, isRefused } = await survivesDetach(world(), {
        create: (cid) =>
          createDisk(cloud, {
            sizeMiB: 5120,
            cloudProperties: { storage_class: `${own}-static` },
            vmCid: cid,
          }),
      });
      assert.ok(isRefused, 'detach_disk took a disk that was written to');
      await deleteVm(cloud, { vmCid: vm });
    },
  );
});

const linesOf = (text: string): string[] => text.trimEnd().split('\n').toSorted();

/**
 * Writes a copy of the manifests with other names and another directory, because other suites apply them
 * unchanged.
 */
async function manifestsNamed(own: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'bosh-kubernetes-manifests-'));
  await cp(join(checkout, 'manifests'), folder, { recursive: true });
  for (const name of await readdir(folder, { recursive: true })) {
    if (!name.endsWith('.yaml')) continue;
    const path = join(folder, name);
    // Do not replace bosh.cloudfoundry.org/…, the prefix of labels.
    const text = await readFile(path, 'utf8');
    const owned = text.replaceAll('/data/bosh-static', join(folder, 'volumes'));
    await writeFile(path, owned.replaceAll(/\bbosh(?![.\w]|-kubernetes)/gu, own));
  }
  return folder;
}
