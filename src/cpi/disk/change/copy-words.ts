import { ifThere } from '../../../kubernetes/if-there.ts';
import type { Pod } from '../../../kubernetes/pod.ts';
import { podLastWords } from '../../../kubernetes/pod-words.ts';
import { pods } from '../../../kubernetes/resources.ts';
import type { PersistentVolumeClaim } from '../../../kubernetes/volume.ts';
import { volumeAnnotations } from '../../../kubernetes/volume.ts';
import type { WaitWords } from '../../../kubernetes/wait.ts';
import type { Cloud } from '../../cloud.ts';
import { claimWords } from '../../last-words.ts';
import { consumerName } from './consumer-pod.ts';

const provisioning = 'see whether the provisioner of its driver runs';
const scheduling =
  "give room to its pod on a node that reaches the disk's volume and that the copy's storage class serves";

/** Why a copy is not bound: the events of its claim and, where its class waits for a consumer, the state of that pod. */
export async function copyWords(
  cloud: Cloud,
  copy: { readonly namespace: string; readonly name: string; readonly waits: boolean },
  last: PersistentVolumeClaim | undefined,
): Promise<WaitWords> {
  if (!copy.waits) return claimWords(cloud, copy, provisioning);
  const consumer = { namespace: copy.namespace, name: consumerName(copy.name) };
  const pod = await ifThere(cloud.api.get<Pod>({ resource: pods, ...consumer }));
  const words = await podLastWords(cloud.api, consumer, pod);
  // before that no provisioner is asked
  const isPlaced = last?.metadata.annotations?.[volumeAnnotations.selectedNode] !== undefined;
  const onClaim = await claimWords(cloud, copy, isPlaced ? provisioning : scheduling);
  return { state: `its pod ${consumer.name}: ${words}; the copy: ${onClaim.state}`, next: onClaim.next };
}
