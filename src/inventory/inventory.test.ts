import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { type LocalApi, openLocalApi } from '../../embedded-cluster/api-server/local-api.ts';
import type { KubernetesObject } from '../kubernetes/object.ts';
import type { Volume } from '../kubernetes/types/pod.ts';
import { namespaces, persistentVolumeClaims, pods } from '../kubernetes/resources.ts';
import { plannedPod } from '../cpi/testing/planned-pod.ts';
import { findProblems } from './find-problems.ts';
import { type Inventory, takeInventory } from './inventory.ts';
import { asObjectLists, readLists, statusLists } from './object-lists.ts';

const take = async (api: LocalApi, vms: string, disks = vms): Promise<Inventory> =>
  takeInventory(await readLists(api, { vms, disks }, statusLists));

const label = (name: string): string => `bosh.cloudfoundry.org/${name}`;

test('each disk is shown with its VM, for every way of attachment and every context', async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'bosh-kubernetes-status-'));
  const api = await openLocalApi({ directory });
  t.after(async () => {
    await api.close();
    await rm(directory, { recursive: true });
  });
  const create = (resource: typeof pods, object: object): Promise<KubernetesObject> =>
    api.create(resource, object as KubernetesObject);
  const pod = (name: string, namespace: string, labels: Record<string, string>, volumes: Volume[] = []) =>
    create(pods, {
      metadata: { name, namespace, labels },
      spec: { containers: [{ name: 'c', image: 'i' }], volumes },
    });
  const disk = (name: string, namespace: string): Promise<KubernetesObject> =>
    create(persistentVolumeClaims, {
      metadata: { name, namespace, labels: { [label('kind')]: 'disk' } },
      spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Mi' } } },
    });
  await create(namespaces, { metadata: { name: 'bosh-disks' } });
  for (const namespace of ['bosh', 'bosh-disks']) {
    for (const name of ['disk-1', 'disk-2']) await disk(name, namespace);
  }
  await pod('vm-a', 'bosh', { [label('kind')]: 'vm' }, [
    { name: 'state', persistentVolumeClaim: { claimName: 'vm-a-state' } },
    { name: 'disk-1', persistentVolumeClaim: { claimName: 'disk-1' } },
  ]);
  await pod('vm-b', 'bosh', { [label('kind')]: 'vm' });
  const attached = { [label('kind')]: 'attachment', [label('vm-id')]: 'vm-b', [label('disk-id')]: 'disk-2' };
  await pod('attach-disk-2', 'bosh-disks', attached);

  const here = await take(api, 'bosh');
  assert.deepEqual(
    here.vms.map(({ cid, disks }) => [cid, disks]),
    [
      ['vm-a', ['disk-1']],
      ['vm-b', []],
    ],
  );
  assert.deepEqual(
    here.disks.map(({ cid, vm }) => [cid, vm]),
    [
      ['disk-1', 'vm-a'],
      ['disk-2', undefined],
    ],
  );
  const apart = await take(api, 'bosh', 'bosh-disks');
  assert.deepEqual(apart.vms[1]?.disks, ['disk-2']);
  assert.equal(apart.disks[1]?.vm, 'vm-b');
});

test('only a VM of an earlier CPI version is listed as one to recreate', async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'bosh-kubernetes-status-'));
  const api = await openLocalApi({ directory });
  t.after(async () => {
    await api.close();
    await rm(directory, { recursive: true });
  });
  const version = label('scripts-version');
  const { annotations = {} } = plannedPod().metadata;
  for (const [name, given] of Object.entries({
    'vm-now': annotations,
    'vm-later': { ...annotations, [version]: String(Number(annotations[version]) + 1) },
    'vm-before': {},
    'vm-unknown': { [version]: 'x' },
  }))
    await api.create(pods, {
      metadata: { name, namespace: 'bosh', labels: { [label('kind')]: 'vm' }, annotations: given },
      spec: { containers: [{ name: 'c', image: 'i' }] },
    });

  const lists = await readLists(api, { vms: 'bosh', disks: 'bosh' }, statusLists);
  const problems = findProblems(takeInventory(lists), lists, Date.now());

  assert.deepEqual(
    problems.map(({ object }) => object),
    ['vm-before', 'vm-unknown'],
  );
  assert.match(problems[0]?.problem ?? '', /earlier version of the CPI/u);
  assert.match(problems[0]?.next ?? '', /--recreate/u);
});

test('restarts are counted as kubectl does', () => {
  const status = (name: string, restartCount: number) => ({ name, restartCount });
  const restartsOf = (isInitialized: boolean): number | undefined => {
    const pod = {
      metadata: { name: 'vm-1', labels: { [label('kind')]: 'vm' } },
      spec: {
        initContainers: [{ name: 'prepare' }, { name: 'mesh', restartPolicy: 'Always' }],
        containers: [{ name: 'vm' }],
      },
      status: {
        initContainerStatuses: [status('prepare', 2), status('mesh', 5)],
        containerStatuses: [status('vm', 1)],
        conditions: [{ type: 'Initialized', status: isInitialized ? 'True' : 'False' }],
      },
    };
    return takeInventory(asObjectLists({ vmPods: [pod] })).vms[0]?.restarts;
  };

  assert.equal(restartsOf(true), 6);
  assert.equal(restartsOf(false), 7);
});
