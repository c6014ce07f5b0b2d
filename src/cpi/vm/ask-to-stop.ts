import { isProductError } from '../../errors/product-error.ts';
import { isApiError } from '../../kubernetes/api-error.ts';
import type { Pod } from '../../kubernetes/pod.ts';
import type { CallContext } from '../cloud.ts';
import { podReference } from './find-vm.ts';
import { stopScript } from './stop-script.ts';
import { vmContainer } from '../own-containers.ts';

export interface StopOptions {
  readonly pod: string;
  /** Whether the container that is to end still runs, by the pod's present state. */
  readonly isStill: (pod: Pod) => boolean;
  readonly signal: AbortSignal;
}

const execDeadlineMs = 30_000;
const retryMs = 5_000;

/**
 * Asks PID 1 of a VM to end until it was heard: a connection may break, also because the container ended under it.
 * Only the container that was seen is asked, so that no second one is stopped. Resolves with what went wrong last;
 * undefined where PID 1 was reached. Ends with `signal`; rejects where the role does not allow it (403).
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

/** What Kubernetes says that time may mend; anything else is a fault of ours or of the role. */
function transientMessage(error: unknown): string {
  if ((isApiError(error) && error.code !== 403) || isProductError(error)) return error.message;
  throw error;
}
