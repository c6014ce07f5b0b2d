import { isProductError, ProductError } from '../../../errors/product-error.ts';
import { isApiError } from '../../../kubernetes/api-error.ts';
import type { Pod } from '../../../kubernetes/pod.ts';
import type { CallContext } from '../../cloud.ts';
import { findVm } from '../../vm/find-vm.ts';
import { isVmRunning } from '../../vm/live-vm.ts';
import { vmContainer } from '../../own-containers.ts';
import { inUseExit, inUseScript } from './in-use-script.ts';

const pauseMs = 500;
const graceSeconds = 40;

/**
 * Rejects with DISK_BUSY while a process in the VM uses one of its own volumes, or while the VM cannot be
 * checked. A container that does not run uses nothing.
 */
export async function assertNotInUse(cloud: CallContext, pod: Pod, diskCid: string): Promise<void> {
  const { name = '', uid } = pod.metadata;
  const seconds = cloud.config.deadlines.release;
  const end = cloud.clock.now() + seconds * 1000;
  for (;;) {
    const words = await findUsers(cloud, name, diskCid, seconds);
    if (words === undefined) return;
    if (words.startsWith('in use:'))
      throw diskBusyError(name, diskCid, `${words} for ${seconds} s; stop what uses it`);
    const now = await findVm(cloud, name);
    if (now === undefined || now.metadata.uid !== uid || !isVmRunning(now)) return;
    if (cloud.clock.now() >= end)
      throw diskBusyError(name, diskCid, `the VM could not be asked for ${seconds} s who uses it (${words})`);
    await cloud.clock.sleep(pauseMs);
  }
}

/**
 * Undefined: no process uses the disk. `in use: ...`: these processes use it. Any other text is the reason
 * why the VM could not be checked.
 */
async function findUsers(
  cloud: CallContext,
  pod: string,
  diskCid: string,
  seconds: number,
): Promise<string | undefined> {
  try {
    const { exitCode, stdout, stderr } = await cloud.exec({
      pod,
      container: vmContainer,
      command: ['/bin/sh', '-c', inUseScript, 'in-use', diskCid, String(seconds)],
      deadlineMs: (seconds + graceSeconds) * 1000,
    });
    if (exitCode === inUseExit.free) return undefined;
    if (exitCode === inUseExit.busy) return `in use: ${stdout.trim().replaceAll('\n', '; ')}`;
    return `exit code ${exitCode}: ${stderr.trim()}`;
  } catch (error) {
    if (!isApiError(error) && !isProductError(error)) throw error;
    return error.message;
  }
}

function diskBusyError(vmCid: string, diskCid: string, why: string): ProductError {
  return new ProductError(
    'DISK_BUSY',
    `disk '${diskCid}' is still attached to VM '${vmCid}': ${why}; then detach it again`,
  );
}
