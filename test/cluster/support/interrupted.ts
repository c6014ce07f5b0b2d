import assert from 'node:assert/strict';
import type { CallContext } from '../../../src/cpi/cloud.ts';
import type { KubernetesObject } from '../../../src/kubernetes/object.ts';

/** When a verb has just made a pod, begins to ask a holder, or has just asked for the end of a pod. */
type Moment = 'pod made' | 'holder asked' | 'end requested';

export interface Interruption {
  readonly moment: Moment;
  /** Begins at that moment, once, and goes on beside the verb. */
  readonly action: () => Promise<void>;
}

/** What a verb comes to while something happens in the middle of it; resolves or rejects after both have ended. */
export async function interrupted<T>(
  cloud: CallContext,
  { moment, action }: Interruption,
  verb: (cloud: CallContext) => Promise<T>,
): Promise<T> {
  let acting: Promise<void> | undefined;
  const at = (now: Moment): void => {
    if (now === moment) acting ??= action();
  };
  const { api } = cloud;
  const [answer] = await Promise.allSettled([
    verb({
      ...cloud,
      api: {
        get: (reference) => api.get(reference),
        list: (resource, query) => api.list(resource, query),
        watch: (resource, query) => api.watch(resource, query),
        groups: () => api.groups(),
        create: async <O extends KubernetesObject>(...words: Parameters<typeof api.create<O>>) => {
          const made = await api.create<O>(...words);
          if (words[0].plural === 'pods') at('pod made');
          return made;
        },
        replace: (...words) => api.replace(...words),
        patch: (...words) => api.patch(...words),
        delete: async (...words) => {
          await api.delete(...words);
          if (words[0].resource.plural === 'pods') at('end requested');
        },
      },
      exec: (command) => {
        at('holder asked');
        return cloud.exec(command);
      },
    }),
  ]);
  assert.ok(acting !== undefined, `the verb never came to: ${moment}`);
  await acting;
  if (answer.status === 'rejected') throw answer.reason;
  return answer.value;
}
