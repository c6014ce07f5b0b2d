import { isProductError } from '../../../errors/product-error.ts';
import { isApiError } from '../../../kubernetes/api-error.ts';
import type { Pod } from '../../../kubernetes/pod.ts';
import type { Cloud } from '../../cloud.ts';
import { vmContainer } from '../../vm/vm-pod.ts';
import { findClaim } from '../claim.ts';
import { findAttachment } from './attachments.ts';
import { attachHot } from './hot.ts';

const secondsToLook = 20;
const isMountedScript = 'grep -qF " /warden-cpi-dev/disks/$1 " /proc/self/mountinfo';

/**
 * The attachment of a disk that is mounted in a living VM though it has none: it was deleted while its holder could not
 * run, or by force. A new one takes the mount over (bind-script.ts) and can let go of it. Undefined where the disk is not there.
 */
export async function takeOver(cloud: Cloud, vm: Pod, diskCid: string): Promise<Pod | undefined> {
  if (vm.metadata.deletionTimestamp !== undefined) return undefined;
  const claim = await findClaim(cloud, diskCid);
  if (claim === undefined || claim.metadata.deletionTimestamp !== undefined) return undefined;
  if (!(await isMounted(cloud, vm, diskCid))) return undefined;
  await attachHot(cloud, vm, diskCid);
  return findAttachment(cloud, diskCid);
}

async function isMounted(cloud: Cloud, { metadata: { name = '' } }: Pod, diskCid: string): Promise<boolean> {
  try {
    const { exitCode } = await cloud.exec({
      pod: name,
      container: vmContainer,
      command: ['/bin/sh', '-c', isMountedScript, 'is-mounted', diskCid],
      deadlineMs: secondsToLook * 1000,
    });
    return exitCode === 0;
  } catch (error) {
    // a container that does not run cannot be asked, and nothing in it uses a disk
    if (isApiError(error) || isProductError(error)) return false;
    throw error;
  }
}
