import { ProductError } from '../../errors/product-error.ts';
import type { Pod } from '../../kubernetes/pod.ts';
import { describePodAndEvents } from '../../kubernetes/pod-words.ts';
import { waitFor } from '../../kubernetes/wait.ts';
import { verifyPodAddresses } from '../address/address-problem.ts';
import type { CallContext } from '../cloud.ts';
import { annotation } from '../labels.ts';
import { eventsOf } from '../last-words.ts';
import { vmContainer, vmContainerStatus } from '../own-containers.ts';
import { podReference } from './find-vm.ts';
import { waitForScheduling } from '../wait-for-node.ts';
import { waitForSandboxFailure } from './sandbox-trouble.ts';
import { inspectPodHint, startProblem } from './start-problem.ts';

/**
 * Describes a sandbox failure. If the pod requests an address, the likely cause is a network that does not
 * have it: CNI plugins report that as a sandbox failure.
 */
function sandboxHint(pod: Pod): { message: string; mayPass: boolean } {
  const asked = pod.metadata.annotations?.[annotation.ipAddress];
  const next =
    asked === undefined
      ? 'see whether the network plugin of its node runs'
      : `it asks for the address ${asked}: see whether a subnet or pool of the cluster's network for pods holds that (static_ips of the ` +
        'manifest), whether another pod has it, and whether the network plugin of its node runs';
  return { message: `its sandbox cannot be made; ${next}`, mayPass: true };
}
const deletedMeanwhile = { message: 'its pod was deleted meanwhile; run the call again', mayPass: true };

/**
 * Waits until the VM's container runs with the addresses that its pod requests. Rejects with
 * VM_CREATION_FAILED, or with VM_CREATION_FAILED_RETRY if time or capacity may help; the message has the
 * status and events of Kubernetes.
 */
export async function waitUntilRunning(cloud: CallContext, pod: Pod): Promise<Pod> {
  const finished = new AbortController();
  const scheduled = await waitForScheduling(cloud, pod, () => failure(deletedMeanwhile, ''));
  const sandbox = sandboxError(cloud, pod, finished.signal);
  try {
    return await Promise.race([containerStarted(cloud, scheduled, finished.signal), sandbox]);
  } finally {
    finished.abort();
    // its errors do not matter once the start has been decided
    sandbox.catch(() => undefined);
  }
}

async function containerStarted(cloud: CallContext, known: Pod, signal: AbortSignal): Promise<Pod> {
  const { name = '', uid } = known.metadata;
  const subject = { namespace: cloud.namespace, name };
  const outcome = await waitFor<Pod, { pod: Pod } | { message: string; mayPass: boolean }>({
    signal,
    api: cloud.api,
    clock: cloud.clock,
    reference: podReference(cloud, name),
    known,
    condition: (pod) => {
      if (pod === undefined || pod.metadata.uid !== uid || pod.metadata.deletionTimestamp !== undefined) {
        return deletedMeanwhile;
      }
      const problem = startProblem(pod);
      if (problem !== undefined) return { message: problem, mayPass: false };
      if (!isRunning(pod)) return undefined;
      const addressError = verifyPodAddresses(pod);
      return addressError === undefined ? { pod } : { message: addressError, mayPass: false };
    },
    awaited: `container ${vmContainer} of pod ${name} to run`,
    deadlineMs: cloud.config.deadlines.createVm * 1000,
    lastWords: async (last) => ({
      state: await describePodAndEvents(cloud.api, subject, last),
      next: inspectPodHint,
    }),
    onProgress: cloud.reportProgress,
  });
  if ('pod' in outcome) return outcome.pod;
  throw failure(outcome, await eventsOf(cloud, { ...subject, kind: 'Pod', uid }, outcome.message));
}

function isRunning({ status }: Pod): boolean {
  const container = vmContainerStatus(status?.containerStatuses);
  return container?.state?.running !== undefined && status?.podIP !== undefined;
}

async function sandboxError(cloud: CallContext, pod: Pod, signal: AbortSignal): Promise<never> {
  throw failure(sandboxHint(pod), await waitForSandboxFailure(cloud, pod, signal));
}

function failure({ message, mayPass }: { message: string; mayPass: boolean }, events: string): ProductError {
  return new ProductError(
    mayPass ? 'VM_CREATION_FAILED_RETRY' : 'VM_CREATION_FAILED',
    events === '' ? message : `${message}; events: ${events}`,
  );
}
