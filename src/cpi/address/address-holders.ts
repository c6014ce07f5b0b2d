import { ProductError } from '../../errors/product-error.ts';
import type { Pod } from '../../kubernetes/pod.ts';
import { pods } from '../../kubernetes/resources.ts';
import type { Cloud } from '../cloud.ts';
import { letGoWhereTerminating } from '../disk/attach/let-go.ts';
import { label } from '../labels.ts';
import { waitUntilGone } from '../remove-object.ts';
import { podReference } from '../vm/find-vm.ts';
import { askedAddresses } from './asked-addresses.ts';

/**
 * Waits until no other VM has one of the addresses, which are known by their labels (`addressLabels`): a VM that is on
 * its way out is waited for, its disks are released.
 * Rejects with VM_CREATION_FAILED, before anything was made, where a living VM has one.
 */
export async function waitUntilAddressesAreFree(
  cloud: Cloud,
  labels: readonly string[],
  vmCid: string,
): Promise<void> {
  const terminating = await refuseLivingHolder(cloud, labels, vmCid);
  await Promise.all(terminating.map((holder) => waitForHolder(cloud, holder)));
}

/**
 * Rejects with VM_CREATION_FAILED where a living VM has one of the addresses, other than the new VM itself and the one that it
 * replaces. Resolves with the VMs that have one and are on their way out. Changes nothing.
 */
export async function refuseLivingHolder(
  cloud: Cloud,
  labels: readonly string[],
  vmCid: string,
  formerCid?: string,
): Promise<Pod[]> {
  const lists = await Promise.all(
    labels.map((address) =>
      cloud.api.list<Pod>(pods, {
        namespace: cloud.namespace,
        labelSelector: `${label.kind}=vm,${address}`,
      }),
    ),
  );
  const holders = lists
    .flatMap(({ items }) => items)
    .filter(({ metadata: { name } }) => name !== vmCid && name !== formerCid);
  const living = holders.find(({ metadata }) => metadata.deletionTimestamp === undefined);
  if (living === undefined) return holders;
  throw new ProductError(
    'VM_CREATION_FAILED',
    `VM '${vmCid}' could not be created in namespace ${cloud.namespace}: VM '${living.metadata.name ?? ''}' has the address ${askedAddresses(living) ?? ''}; choose another one, or delete that VM first`,
  );
}

async function waitForHolder(cloud: Cloud, holder: Pod): Promise<void> {
  const { name = '', uid = '' } = holder.metadata;
  await letGoWhereTerminating(cloud, holder);
  await waitUntilGone(cloud, {
    reference: podReference(cloud, name),
    uid,
    nodeName: holder.spec.nodeName,
    deadlineSeconds: cloud.config.deadlines.deleteVm,
    what: `VM '${name}', which still has the address ${askedAddresses(holder) ?? ''},`,
  });
}
