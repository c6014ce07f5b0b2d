import { ProductError } from '../../errors/product-error.ts';
import type { Pod } from '../../kubernetes/pod.ts';
import { pods } from '../../kubernetes/resources.ts';
import type { Cloud } from '../cloud.ts';
import { letGoWhereTerminating } from '../disk/attach/let-go.ts';
import { label } from '../labels.ts';
import { labelValue } from '../names.ts';
import { waitUntilGone } from '../remove-object.ts';
import { podReference } from '../vm/find-vm.ts';

/**
 * Waits until no other VM has the address: one that is on its way out is waited for, its disks are released.
 * Rejects with VM_CREATION_FAILED, before anything was made, where a living VM has it.
 */
export async function waitUntilAddressIsFree(cloud: Cloud, address: string, vmCid: string): Promise<void> {
  const { items } = await cloud.api.list<Pod>(pods, {
    namespace: cloud.namespace,
    labelSelector: `${label.kind}=vm,${label.ipAddress}=${labelValue(address)}`,
  });
  const holders = items.filter(({ metadata }) => metadata.name !== vmCid);
  const living = holders.find(({ metadata }) => metadata.deletionTimestamp === undefined);
  if (living !== undefined) {
    throw new ProductError(
      'VM_CREATION_FAILED',
      `VM '${vmCid}' could not be created: VM '${living.metadata.name ?? ''}' has the address ${address}`,
    );
  }
  await Promise.all(holders.map((holder) => waitForHolder(cloud, holder, address)));
}

async function waitForHolder(cloud: Cloud, holder: Pod, address: string): Promise<void> {
  const { name = '', uid = '' } = holder.metadata;
  await letGoWhereTerminating(cloud, holder);
  await waitUntilGone(cloud, {
    reference: podReference(cloud, name),
    uid,
    nodeName: holder.spec.nodeName,
    deadlineSeconds: cloud.config.deadlines.deleteVm,
    what: `VM '${name}', which still has the address ${address},`,
  });
}
