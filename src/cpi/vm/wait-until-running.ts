import { ProductError } from '../../errors/product-error.ts';
import type { Pod } from '../../kubernetes/pod.ts';
import { describeEvents, podLastWords } from '../../kubernetes/pod-words.ts';
import { waitFor } from '../../kubernetes/wait.ts';
import { addressProblem } from '../address/address-problem.ts';
import type { Cloud } from '../cloud.ts';
import { podReference } from './find-vm.ts';
import { waitForNode } from '../wait-for-node.ts';
import { lookAtPod, startProblem } from './start-problem.ts';
import { vmContainer } from './vm-pod.ts';

const lookAtEventsMs = 5_000;
const deletedMeanwhile = { message: 'its pod was deleted meanwhile; run the call again', mayPass: true };

/**
 * Waits until the VM's container runs with the addresses that its pod asks for. Rejects with VM_CREATION_FAILED, or VM_CREATION_FAILED_RETRY where time or
 * capacity may help, with what Kubernetes says about it.
 */
export async function waitUntilRunning(cloud: Cloud, pod: Pod): Promise<Pod> {
  await waitForNode(cloud, pod, () => failure(deletedMeanwhile, ''));
  const finished = new AbortController();
  const sandbox = sandboxTrouble(cloud, pod, finished.signal);
  try {
    return await Promise.race([started(cloud, pod), sandbox]);
  } finally {
    finished.abort();
    // what it meets after the VM's start is decided is nobody's concern
    sandbox.catch(() => undefined);
  }
}

async function started(cloud: Cloud, { metadata: { name = '', uid } }: Pod): Promise<Pod> {
  const subject = { namespace: cloud.namespace, name };
  const outcome = await waitFor<Pod, { pod: Pod } | { message: string; mayPass: boolean }>({
    api: cloud.api,
    clock: cloud.clock,
    reference: podReference(cloud, name),
    condition: (pod) => {
      if (pod === undefined || pod.metadata.uid !== uid || pod.metadata.deletionTimestamp !== undefined) {
        return deletedMeanwhile;
      }
      const problem = startProblem(pod);
      if (problem !== undefined) return { message: problem, mayPass: false };
      if (!isRunning(pod)) return undefined;
      const wrongAddress = addressProblem(pod);
      return wrongAddress === undefined ? { pod } : { message: wrongAddress, mayPass: false };
    },
    awaited: `container ${vmContainer} of pod ${name} to run`,
    deadlineMs: cloud.config.deadlines.createVm * 1000,
    lastWords: async (last) => `${await podLastWords(cloud.api, subject, last)}; ${lookAtPod}`,
  });
  if ('pod' in outcome) return outcome.pod;
  throw failure(outcome, await describeEvents(cloud.api, { ...subject, kind: 'Pod' }));
}

function isRunning({ status }: Pod): boolean {
  const container = status?.containerStatuses?.find(({ name }) => name === vmContainer);
  return container?.state?.running !== undefined && status?.podIP !== undefined;
}

/** A sandbox that cannot be made shows in events alone: the pod's status says no more than ContainerCreating. */
async function sandboxTrouble(cloud: Cloud, pod: Pod, signal: AbortSignal): Promise<never> {
  const { name = '' } = pod.metadata;
  const limitMs = cloud.config.deadlines.sandbox * 1000;
  let since: number | undefined;
  while (!signal.aborted) {
    await cloud.clock.sleep(Math.min(lookAtEventsMs, limitMs), signal);
    if (signal.aborted) break;
    const events = await describeEvents(cloud.api, { namespace: cloud.namespace, name, kind: 'Pod' });
    if (!events.includes('FailedCreatePodSandBox')) {
      since = undefined;
      continue;
    }
    since ??= cloud.clock.now();
    if (cloud.clock.now() - since >= limitMs / 2) {
      throw failure(
        {
          message: 'its sandbox cannot be made; see whether the network plugin of its node runs',
          mayPass: true,
        },
        events,
      );
    }
  }
  return new Promise<never>(() => undefined);
}

function failure({ message, mayPass }: { message: string; mayPass: boolean }, events: string): ProductError {
  return new ProductError(
    mayPass ? 'VM_CREATION_FAILED_RETRY' : 'VM_CREATION_FAILED',
    events === '' ? message : `${message}; events: ${events}`,
  );
}
