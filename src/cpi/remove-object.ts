import { isApiError } from '../kubernetes/api-error.ts';
import type { ObjectReference } from '../kubernetes/api.ts';
import type { KubernetesObject } from '../kubernetes/object.ts';
import type { Pod } from '../kubernetes/pod.ts';
import { podLastWords } from '../kubernetes/pod-words.ts';
import { waitFor } from '../kubernetes/wait.ts';
import type { Cloud } from './cloud.ts';

/** Asks for the deletion of exactly that object. One that is gone, or was made anew, is success. */
export async function requestDeletion(cloud: Cloud, reference: ObjectReference, uid: string): Promise<void> {
  try {
    await cloud.api.delete(reference, { preconditions: { uid }, propagationPolicy: 'Background' });
  } catch (error) {
    if (!isApiError(error, 404) && !isApiError(error, 409)) throw error;
  }
}

export interface GoneOptions {
  readonly reference: ObjectReference;
  readonly uid: string;
  readonly deadlineSeconds: number;
  /** For the DEADLINE error: `VM 'vm-1'`. */
  readonly what: string;
}

/** Waits until that object is gone; one of the same name with another uid is not it. Rejects with DEADLINE. */
export async function waitUntilGone(cloud: Cloud, options: GoneOptions): Promise<void> {
  const { reference, uid } = options;
  await waitFor<KubernetesObject, true>({
    api: cloud.api,
    clock: cloud.clock,
    reference,
    condition: (object) => (object === undefined || object.metadata.uid !== uid ? true : undefined),
    awaited: `${options.what} to be gone`,
    deadlineMs: options.deadlineSeconds * 1000,
    lastWords: (last) => wordsOf(cloud, reference, last),
  });
}

/** Finalizers say what holds an object; a pod has more to tell. */
async function wordsOf(
  cloud: Cloud,
  { resource, name, namespace = '' }: ObjectReference,
  last: KubernetesObject | undefined,
): Promise<string> {
  if (resource.plural === 'pods')
    return podLastWords(cloud.api, { namespace, name }, last as Pod | undefined);
  const finalizers = last?.metadata.finalizers ?? [];
  return finalizers.length === 0 ? 'it is still there' : `held by its finalizers ${finalizers.join(', ')}`;
}
