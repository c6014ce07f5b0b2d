import { isProductError } from '../../errors/product-error.ts';
import { isApiError } from '../../kubernetes/api-error.ts';
import type { Pod } from '../../kubernetes/pod.ts';
import type { CallContext } from '../cloud.ts';
import { podReference } from './find-vm.ts';
import { stopScript } from './stop-script.ts';
import { vmContainer } from '../own-containers.ts';

export interface StopOptions {
  readonly pod: string;
  /** Returns whether the container that must end still runs, by the current state of the pod. */
  readonly isStill: (pod: Pod) => boolean;
  readonly signal: AbortSignal;
}

const execDeadlineMs = 30_000;
const retryMs = 5_000;

/**
 * Sends the stop script to PID 1 of a VM until it is delivered: the connection may break, also because the
 * container ended. Sends it only to the container that was read, so that no second one is stopped. Returns
 * the last error; undefined if PID 1 received it. Ends with `signal`; rejects if the role does not allow it
 * (403).
 */
export async function signalStop(cloud: CallContext, options: StopOptions): Promise<string | undefined> {
  let trouble: string | undefined;
  while (!options.signal.aborted) {
    trouble = await sendSignal(cloud, options.pod);
    if (trouble === undefined) return undefined;
    await cloud.clock.sleep(retryMs, options.signal);
    if (!options.signal.aborted && !(await isSameContainer(cloud, options))) return undefined;
  }
  return trouble;
}

async function sendSignal(cloud: CallContext, pod: string): Promise<string | undefined> {
  try {
    const { exitCode, stderr } = await cloud.exec({
      pod,
      container: vmContainer,
      command: ['/bin/sh', '-c', stopScript, 'stop'],
      deadlineMs: execDeadlineMs,
    });
    return exitCode === 0 ? undefined : `exit code ${exitCode}: ${stderr.trim()}`;
  } catch (error) {
    return transientMessage(error);
  }
}

async function isSameContainer(cloud: CallContext, { pod, isStill }: StopOptions): Promise<boolean> {
  try {
    return isStill(await cloud.api.get<Pod>(podReference(cloud, pod)));
  } catch (error) {
    transientMessage(error);
    return true;
  }
}

/**
 * Returns the message of a transient error; rethrows anything else, which is a bug of the CPI or a missing
 * role.
 */
function transientMessage(error: unknown): string {
  if ((isApiError(error) && error.code !== 403) || isProductError(error)) return error.message;
  throw error;
}
