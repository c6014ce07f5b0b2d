import { ignoreNotFound } from '../../../kubernetes/if-there.ts';
import type { Pod } from '../../../kubernetes/pod.ts';
import { describePodAndEvents } from '../../../kubernetes/pod-words.ts';
import { pods } from '../../../kubernetes/resources.ts';
import type { PersistentVolumeClaim } from '../../../kubernetes/volume.ts';
import { volumeAnnotations } from '../../../kubernetes/volume.ts';
import type { WaitStatus } from '../../../kubernetes/wait.ts';
import type { CallContext } from '../../cloud.ts';
import { describeClaim } from '../../last-words.ts';
import { consumerName } from './consumer-pod.ts';

const provisionerHint = 'see whether the provisioner of its driver runs';
const schedulingHint =
  "give room to its pod on a node that reaches the disk's volume and that the copy's storage class serves";

/**
 * Describes why a replacement is not bound: the events of its claim and, if its class waits for a consumer,
 * the state of that pod.
 */
export async function describeReplacement(
  cloud: CallContext,
  copy: { readonly namespace: string; readonly name: string; readonly waits: boolean },
  last: PersistentVolumeClaim | undefined,
): Promise<WaitStatus> {
  if (!copy.waits) return describeClaim(cloud, copy, provisionerHint);
  const consumer = { namespace: copy.namespace, name: consumerName(copy.name) };
  const pod = await ignoreNotFound(cloud.api.get<Pod>({ resource: pods, ...consumer }));
  const words = await describePodAndEvents(cloud.api, consumer, pod);
  // before that the provisioner does nothing
  const isPlaced = last?.metadata.annotations?.[volumeAnnotations.selectedNode] !== undefined;
  const onClaim = await describeClaim(cloud, copy, isPlaced ? provisionerHint : schedulingHint);
  return { state: `its pod ${consumer.name}: ${words}; the copy: ${onClaim.state}`, next: onClaim.next };
}
