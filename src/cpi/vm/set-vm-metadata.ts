import { ifThere } from '../../kubernetes/if-there.ts';
import type { Pod } from '../../kubernetes/pod.ts';
import type { Cloud } from '../cloud.ts';
import { letGoWhereTerminating } from '../disk/attach/let-go.ts';
import type { Place } from '../input.ts';
import { at, recordAt, stringAt } from '../input.ts';
import { metadataPatch } from '../metadata.ts';
import { findVm, podReference, vmNotFound } from './find-vm.ts';

/**
 * set_vm_metadata(vm_cid, metadata): one patch of the pod; what a former call set and this does not goes away. VM_NOT_FOUND
 * without it, and for a pod that is not ours.
 */
export async function setVmMetadata(cloud: Cloud, args: readonly unknown[]): Promise<null> {
  const place: Place = { code: 'INVALID_ARGUMENT', path: 'set_vm_metadata' };
  const cid = stringAt(args[0], at(place, 'vm_cid'));
  const patch = metadataPatch(recordAt(args[1], at(place, 'metadata')));
  // a pod of that name may be somebody else's
  const isThere = (await findVm(cloud, cid)) !== undefined;
  const pod = isThere ? await ifThere(cloud.api.patch<Pod>(podReference(cloud, cid), patch)) : undefined;
  if (pod === undefined) throw vmNotFound(cloud, cid);
  await letGoWhereTerminating(cloud, pod);
  return null;
}
