import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { cp, mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { checkout } from '../support/embedded-line.ts';
import { runWell } from './machine/run.ts';
import { describeCluster } from './support/describe-cluster.ts';
import { keepParametersRead } from './support/disks-namespace.ts';

describeCluster('manifests/cluster', (world) => {
  test('kubectl apply -k makes all of it, and changes nothing when it is applied again', async (t) => {
    const { api, cluster } = world();
    await keepParametersRead(api);
    const folder = await manifestsOfOwnNames();
    const kubectl = (...words: readonly string[]): Promise<string> =>
      runWell([...cluster.kubectl, ...words, '-k', join(folder, 'cluster')]);
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
  });
});

const linesOf = (text: string): string[] => text.trimEnd().split('\n').toSorted();

/** A copy of the manifests with names of this test's, since other suites apply them as they are. */
async function manifestsOfOwnNames(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'bosh-kubernetes-manifests-'));
  await cp(join(checkout, 'manifests'), folder, { recursive: true });
  const own = `apply-${randomUUID().slice(0, 8)}`;
  for (const name of await readdir(folder, { recursive: true })) {
    if (!name.endsWith('.yaml')) continue;
    const path = join(folder, name);
    // not bosh.cloudfoundry.org/…, the prefix of labels
    const text = (await readFile(path, 'utf8')).replaceAll(/\bbosh(?![.\w])/gu, own);
    await writeFile(path, text);
  }
  return folder;
}
