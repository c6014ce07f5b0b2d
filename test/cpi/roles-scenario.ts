import assert from 'node:assert/strict';
import { isProductError } from '../../src/errors/product-error.ts';
import {
  persistentVolumeClaims,
  secrets,
  services,
  volumeSnapshots,
  networkAttachmentDefinitions,
  networkPolicies,
} from '../../src/kubernetes/resources.ts';
import {
  createVmArguments,
  createVmRequest,
  groupEnv,
  image,
  namespace,
} from '../../src/cpi/testing/test-cloud.ts';
import { attributesClass, diskNamespace, otherClass } from './roles-world.ts';
import type { RolesWorld } from './roles-world.ts';

interface Caller {
  readonly call: (method: string, args: readonly unknown[]) => Promise<unknown>;
  readonly newAddress: () => string;
  readonly deleteSlowly: RolesWorld['deleteSlowly'];
  readonly diskNamespace: string;
}

const callerOf = (world: RolesWorld, kubernetes: { disk_namespace?: string; attach?: string }): Caller => ({
  diskNamespace: kubernetes.disk_namespace ?? namespace,
  deleteSlowly: (reference, deletion) => world.deleteSlowly(reference, deletion),
  call: (method, args) => world.call(method, args, kubernetes),
  newAddress: () => world.newAddress(),
});

/**
 * Calls every method of the CPI, with each attach strategy, and causes the requests that follow a failure.
 */
export async function callEveryMethod(world: RolesWorld): Promise<void> {
  const caller = callerOf(world, {});
  const { call } = caller;
  const stemcell = String(await call('create_stemcell', ['/tmp/image', { image_reference: image }]));
  await vmAndDisk(caller, stemcell);
  await vmAndDisk(callerOf(world, { attach: 'recreate' }), stemcell);
  await groupWithBudget(caller);
  await call('calculate_vm_cloud_properties', [{ cpu: 1, ram: 512, ephemeral_disk_size: 1024 }]);
  await servicesOfSuccessors(caller);
  await bothNetworkKinds(caller);
  // no node matches: the error describes the pod's events
  const nowhere = createVmRequest({ agentId: 'nowhere', properties: { node_selector: { no: 'where' } } });
  await assert.rejects(call('create_vm', createVmArguments(nowhere)), (error) => isProductError(error));
  await call('delete_stemcell', [stemcell]);
}

/**
 * The group's budget is created with the second VM, changes with the third, and is deleted with the last but
 * one.
 */
async function groupWithBudget({ call }: Caller): Promise<void> {
  const networks = { default: { type: 'dynamic' } };
  const env = groupEnv('group');
  const properties = { disruption_budget: true };
  const agents = ['member-1', 'member-2', 'member-3'];
  for (const agentId of agents)
    await call('create_vm', createVmArguments(createVmRequest({ agentId, networks, env, properties })));
  for (const agentId of agents) await call('delete_vm', [`vm-${agentId}`]);
}

async function vmAndDisk(caller: Caller, stemcell: string): Promise<void> {
  const { call, deleteSlowly } = caller;
  const vm = await newVm(caller, stemcell);
  assert.equal(await call('has_vm', [vm]), true);
  const successor = createVmRequest({ agentId: 'successor', networks: { default: { type: 'dynamic' } } });
  assert.deepEqual(await call('check_vm', [...createVmArguments(successor), vm]), []);
  assert.equal(await call('describe_vm', [vm]), null);
  await call('set_vm_metadata', [vm, { job: 'j' }]);
  const disk = String(
    await call('create_disk', [16, { storage_class: 'local', snapshot_class: 'local' }, vm]),
  );
  assert.equal(await call('has_disk', [disk]), true);
  await call('attach_disk', [vm, disk]);
  assert.deepEqual(await call('get_disks', [vm]), [disk]);
  await call('set_disk_metadata', [disk, { job: 'j' }]);
  const beside = await newVm(caller, stemcell, [disk]);
  await call('delete_vm', [beside]);
  await call('reboot_vm', [vm]);
  const snapshot = await call('snapshot_disk', [disk, { deployment: 'd' }]);
  await call('detach_disk', [vm, disk]);
  const volumeSnapshot = {
    resource: volumeSnapshots,
    namespace: caller.diskNamespace,
    name: String(snapshot),
  };
  await deleteSlowly(volumeSnapshot, () => call('delete_snapshot', [snapshot]));
  const leftover = await changed(caller, disk);
  await deleteSlowly({ resource: secrets, namespace, name: vm }, () => call('delete_vm', [vm]));
  const claim = { resource: persistentVolumeClaims, namespace: caller.diskNamespace, name: leftover };
  await deleteSlowly(claim, () => call('delete_disk', [leftover]));
}

/** Both kinds of network, a second call for the same one, and a VM that names it. */
async function bothNetworkKinds({ call, deleteSlowly }: Caller): Promise<void> {
  const cloudProperties = { network_policy: true, network_attachment: { type: 'macvlan' } };
  for (const [key, resource] of [
    ['network_policy', networkPolicies],
    ['network_attachment', networkAttachmentDefinitions],
  ] as const) {
    const definition = {
      type: 'manual',
      range: '10.0.0.0/24',
      cloud_properties: { [key]: cloudProperties[key] },
    };
    const made = (await call('create_network', [definition])) as [string, object, object];
    assert.deepEqual(await call('create_network', [definition]), made);
    const [name, , properties] = made;
    const network = { type: 'dynamic', cloud_properties: properties };
    const request = createVmArguments(
      createVmRequest({ agentId: `in-${name}`.slice(0, 40), networks: { network } }),
    );
    if (key === 'network_policy') {
      const [cid] = (await call('create_vm', request)) as [string];
      await call('delete_vm', [cid]);
      // the cluster has no Multus, so there is no interface
    } else
      await assert.rejects(call('create_vm', request), (error) =>
        isProductError(error, 'VM_CREATION_FAILED'),
      );
    await deleteSlowly({ resource, namespace, name }, () => call('delete_network', [name]));
  }
}

/**
 * Returns a disk that grew, changed its attributes class and moved to another class, if the classes may be
 * read.
 */
async function changed({ call }: Caller, disk: string): Promise<string> {
  await call('resize_disk', [disk, 32]);
  const attributes = { storage_class: 'local', volume_attributes_class: attributesClass };
  await call('update_disk', [disk, 32, attributes]);
  try {
    return String(await call('update_disk', [disk, 32, { ...attributes, storage_class: otherClass }]));
  } catch (error) {
    if (!isProductError(error, 'NOT_SUPPORTED')) throw error;
    return disk;
  }
}

/**
 * A Service of one VM that a second VM joins and takes over, and a Service of the group. Waits until the
 * first one is deleted.
 */
async function servicesOfSuccessors({ call, deleteSlowly }: Caller): Promise<void> {
  const list = [
    { name: 'own', selector: 'vm', ports: [{ port: 80 }] },
    { name: 'shared', ports: [{ port: 80 }] },
  ];
  const newOne = async (agentId: string): Promise<string> => {
    const request = { agentId, properties: { services: list }, networks: { default: { type: 'dynamic' } } };
    const env = { bosh: { group: 'd-group' } };
    const args = createVmArguments(createVmRequest({ ...request, env }));
    const [cid] = (await call('create_vm', args)) as [string];
    return cid;
  };
  const previous = await newOne('former');
  const next = await newOne('next');
  await call('delete_vm', [previous]);
  await deleteSlowly({ resource: services, namespace, name: 'own' }, () => call('delete_vm', [next]));
}

async function newVm(
  { call, newAddress }: Caller,
  stemcell: string,
  disks: readonly string[] = [],
): Promise<string> {
  const ip = newAddress();
  const networks = { default: { type: 'manual', ip } };
  const agentId = `agent-${ip.replaceAll('.', '-')}`;
  const request = { ...createVmRequest({ agentId, image: stemcell, networks }), diskCids: disks };
  const [cid] = (await call('create_vm', createVmArguments(request))) as [string];
  return cid;
}

/** The calls that use disks, with the disks in a namespace of their own. */
export async function callForDiskNamespace(world: RolesWorld): Promise<void> {
  const caller = callerOf(world, { disk_namespace: diskNamespace });
  await vmAndDisk(caller, image);
  // a class that makes no volumes: the claim waits forever, and its events report that
  const vm = await newVm(caller, image);
  const disk = await caller.call('create_disk', [16, { storage_class: '' }, vm]);
  await assert.rejects(caller.call('attach_disk', [vm, disk]), (error) => isProductError(error));
  await caller.call('delete_vm', [vm]);
}
