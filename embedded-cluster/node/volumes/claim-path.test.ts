import assert from 'node:assert/strict';
import { mkdir, mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import type { KubernetesApi } from '../../../src/kubernetes/api.ts';
import { volumeAnnotations } from '../../../src/kubernetes/types/storage.ts';
import { nodeLayout, type NodeLayout } from '../node-paths.ts';
import { resolveVolumePath } from './claim-path.ts';
import { VolumeError } from './sub-path.ts';

const name = 'pvc-1';
const claim = { metadata: { uid: '1' }, spec: { volumeName: name }, status: { phase: 'Bound' } };

async function layoutOf(t: TestContext): Promise<NodeLayout> {
  const directory = await realpath(await mkdtemp(join(tmpdir(), 'bosh-kubernetes-claims-')));
  t.after(() => rm(directory, { recursive: true }));
  const layout = nodeLayout(directory);
  await mkdir(join(layout.volumes, name), { recursive: true });
  await mkdir(join(layout.volumes, '.trash'));
  return layout;
}

/**
 * Returns the directory of the claim's volume if its object contains `path`; `provisioned`: by the
 * controller.
 */
async function find(layout: NodeLayout, path: string, provisioned: boolean): Promise<string> {
  const annotations = provisioned ? { [volumeAnnotations.provisionedBy]: 'us' } : {};
  const volume = { metadata: { name, annotations }, spec: { hostPath: { path }, claimRef: { uid: '1' } } };
  const get = ({ resource }: { resource: { plural: string } }): Promise<unknown> =>
    Promise.resolve(resource.plural === 'persistentvolumes' ? volume : claim);
  const api = { get } as unknown as Pick<KubernetesApi, 'get'>;
  return (await resolveVolumePath(api, { namespace: 'bosh', name: 'disk' }, layout)).path;
}

test('a provisioned volume is found in the directory of its name, wherever the cluster was when it was created', async (t) => {
  const layout = await layoutOf(t);
  const here = join(layout.volumes, name);
  for (const path of [
    here,
    `/var/lib/bosh-kubernetes/volumes/${name}`,
    `/moved/away/cluster/volumes/${name}`,
  ])
    assert.equal(await find(layout, path, true), here);
});

test('a volume that a user wrote is found at its path, and only below the volumes', async (t) => {
  const layout = await layoutOf(t);
  const here = join(layout.volumes, name);
  for (const path of [here, `/var/lib/bosh-kubernetes/volumes/${name}`])
    assert.equal(await find(layout, path, false), here);
  const refused = [
    ...[`/moved/away/cluster/volumes/${name}`, '/', layout.volumes, join(layout.volumes, '.trash')],
    ...[`${layout.volumes}/../kubelet`, '/var/lib/bosh-kubernetes/journal', `${layout.directory}/journal`],
  ];
  for (const path of refused) await assert.rejects(find(layout, path, false), VolumeError);
  await assert.rejects(find(layout, '/etc/passwd', true), VolumeError);
});
