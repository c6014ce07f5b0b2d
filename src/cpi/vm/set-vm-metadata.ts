import { isApiError } from '../../kubernetes/api-error.ts';
import type { Pod } from '../../kubernetes/pod.ts';
import type { Cloud } from '../cloud.ts';
import { letGoWhereTerminating } from '../disk/attach/let-go.ts';
import type { Place } from '../input.ts';
import { at, recordAt, stringAt } from '../input.ts';
import { metadataPatch } from '../metadata.ts';
import { isVmCid } from '../names.ts';
import { podReference, vmNotFound } from './find-vm.ts';

/** set_vm_metadata(vm_cid, metadata): one patch of the pod; what a former call set and this does not goes away. */
export async function setVmMetadata(cloud: Cloud, args: readonly unknown[]): Promise<null> {
  const place: Place = { code: 'INVALID_ARGUMENT', path: 'set_vm_metadata' };
  const cid = stringAt(args[0], at(place, 'vm_cid'));
  const patch = metadataPatch(recordAt(args[1], at(place, 'metadata')));
  if (!isVmCid(cid)) throw vmNotFound(cloud, cid);
  try {
    await letGoWhereTerminating(cloud, await cloud.api.patch<Pod>(podReference(cloud, cid), patch));
    return null;
  } catch (error) {
    if (isApiError(error, 404)) throw vmNotFound(cloud, cid);
    throw error;
  }
}
