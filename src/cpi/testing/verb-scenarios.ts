import type { ContainerState } from '../../kubernetes/types/pod.ts';
import { persistentVolumeClaims, pods } from '../../kubernetes/resources.ts';
import type { PersistentVolumeClaim } from '../../kubernetes/types/storage.ts';
import type { CallContext } from '../call.ts';
import { verbOf } from './verb-of.ts';
import { attachDisk } from '../disk/attach-disk.ts';
import { createDisk } from '../disk/create-disk.ts';
import { createNetwork } from '../network/create-network.ts';
import { snapshotDisk } from '../snapshot/snapshot-disk.ts';
import { createVm } from '../vm/create-vm.ts';
import { createVmArguments, createVmRequest, image, namespace, vmCidOfTest as vm } from './test-cloud.ts';

/**
 * One call of a method in the normal case: it finds no incomplete objects, and retries nothing. The cluster
 * serves NetworkPolicies.
 */
export interface VerbScenario {
  /** The row in docs/cpi/internals.md. */
  readonly name: string;
  readonly method: string;
  readonly config?: Record<string, unknown>;
  /** Creates what the call needs; returns the arguments of the call. */
  readonly prepare: (cloud: CallContext) => Promise<unknown[]>;
  /** Does what the node does during the call, if the test's node does not. */
  readonly exec?: (cloud: CallContext) => CallContext['exec'];
}

const withVm = async (cloud: CallContext): Promise<unknown[]> => {
  await createVm(cloud, createVmRequest());
  return [vm];
};

const newDisk = (cloud: CallContext, storageClass = 'later'): Promise<string> =>
  createDisk(cloud, { sizeMiB: 64, cloudProperties: { storage_class: storageClass } });

const withDisk = async (cloud: CallContext): Promise<unknown[]> => [
  ...(await withVm(cloud)),
  await newDisk(cloud),
];

const attached = async (cloud: CallContext): Promise<unknown[]> => {
  const args = await withDisk(cloud);
  await verbOf('attach_disk')(cloud, args);
  return args;
};

async function boundDisk(cloud: CallContext): Promise<string> {
  const name = await newDisk(cloud, 'now');
  const reference = { resource: persistentVolumeClaims, namespace, name };
  while ((await cloud.api.get<PersistentVolumeClaim>(reference)).status?.phase !== 'Bound') {
    await cloud.clock.sleep(5);
  }
  return name;
}

const says = async ({ api }: CallContext, containerID: string): Promise<void> => {
  const state: ContainerState = { running: { startedAt: '2026-01-01T00:00:00Z' } };
  const container = { name: 'bosh', image, imageID: '', ready: true, restartCount: 0, state, containerID };
  const reference = { resource: pods, namespace, name: vm };
  await api.patch(reference, { status: { containerStatuses: [container] } }, { subresource: 'status' });
};

const isolated = { type: 'manual', range: '10.0.0.0/24', cloud_properties: { network_policy: true } };
const recreate = { kubernetes: { attach: 'recreate' } };
const metadata = { director: 'd', deployment: 'dep', job: 'group', index: '0' };
const alone = (method: string, ...args: unknown[]): VerbScenario => ({
  name: method,
  method,
  prepare: () => Promise.resolve(args),
});
const given = (method: string, prepare: VerbScenario['prepare']): VerbScenario => ({
  name: method,
  method,
  prepare,
});
const onRecreate = (scenario: VerbScenario): VerbScenario => ({
  ...scenario,
  name: `${scenario.method} (${['recreate', ...scenario.name.split(/[()]/u).slice(1, 2)].join(', ')})`,
  config: recreate,
});
const named = (words: string, scenario: VerbScenario): VerbScenario => ({
  ...scenario,
  name: `${scenario.method} (${words})`,
});

const services = [{ name: 'web', selector: 'vm', ports: [{ port: 80 }] }];
const withService = createVmRequest({ properties: { services } });
const createVmScenario = alone('create_vm', ...createVmArguments());
const checkVmScenario = given('check_vm', async (cloud) => [
  ...createVmArguments(createVmRequest({ agentId: 'next' })),
  ...(await withVm(cloud)),
]);
const deleteVmScenario = given('delete_vm', withVm);
const attachScenario = given('attach_disk', withDisk);
const detachScenario = given('detach_disk', attached);
const deleteWithDisk = named('a disk attached', given('delete_vm', attached));
const createWithService = named('a Service', alone('create_vm', ...createVmArguments(withService)));
const deleteWithService = named(
  'a Service',
  given('delete_vm', async (cloud) => {
    await createVm(cloud, withService);
    return [vm];
  }),
);

/** Returns a scenario in which a new container runs as soon as the previous one is stopped. */
const reboot = (prepare: VerbScenario['prepare']): VerbScenario => ({
  ...given('reboot_vm', async (cloud) => {
    const args = await prepare(cloud);
    await says(cloud, 'one');
    return args.slice(0, 1);
  }),
  exec: (cloud) => async () => {
    await says(cloud, 'two');
    return { exitCode: 0, stdout: '', stderr: '' };
  },
});

async function twoAttached(cloud: CallContext): Promise<unknown[]> {
  const args = await attached(cloud);
  const second = await newDisk(cloud);
  await attachDisk(cloud, { vmCid: vm, diskCid: second });
  return args;
}

export const verbScenarios: readonly VerbScenario[] = [
  alone('create_stemcell', '/image', { image_reference: image }),
  alone('delete_stemcell', image),
  createVmScenario,
  onRecreate(createVmScenario),
  onRecreate(createWithService),
  checkVmScenario,
  onRecreate(checkVmScenario),
  given('describe_vm', withVm),
  deleteVmScenario,
  deleteWithDisk,
  onRecreate(deleteVmScenario),
  onRecreate(deleteWithService),
  onRecreate(deleteWithDisk),
  reboot(withVm),
  named('two disks attached', reboot(twoAttached)),
  onRecreate(named('a disk attached', reboot(attached))),
  given('has_vm', withVm),
  given('set_vm_metadata', async (cloud) => [...(await withVm(cloud)), metadata]),
  alone('calculate_vm_cloud_properties', { ram: 1024, cpu: 1, ephemeral_disk_size: 1024 }),
  alone('create_disk', 64, { storage_class: 'later' }, null),
  given('delete_disk', async (cloud) => [await boundDisk(cloud)]),
  given('has_disk', async (cloud) => [await newDisk(cloud)]),
  attachScenario,
  named(
    'a second disk',
    given('attach_disk', async (cloud) => {
      await attached(cloud);
      return [vm, await newDisk(cloud)];
    }),
  ),
  onRecreate(attachScenario),
  detachScenario,
  named('a second disk', given('detach_disk', twoAttached)),
  onRecreate(detachScenario),
  given('resize_disk', async (cloud) => [await boundDisk(cloud), 128]),
  given('update_disk', async (cloud) => [await boundDisk(cloud), 128, { storage_class: 'now' }]),
  {
    ...given('update_disk', async (cloud) => [await boundDisk(cloud), 64, { storage_class: 'other' }]),
    name: 'update_disk (into another class)',
  },
  given('set_disk_metadata', async (cloud) => [await newDisk(cloud), metadata]),
  given('get_disks', attached),
  given('snapshot_disk', async (cloud) => [await boundDisk(cloud), metadata]),
  given('delete_snapshot', async (cloud) => [
    await snapshotDisk(cloud, { diskCid: await boundDisk(cloud), metadata: {} }),
  ]),
  alone('create_network', isolated),
  given('delete_network', async (cloud) => [(await createNetwork(cloud, { definition: isolated }))[0]]),
];
