import assert from 'node:assert/strict';
import type { CallContext } from '../../../src/cpi/call.ts';
import type { KubernetesObject } from '../../../src/kubernetes/object.ts';

/**
 * The moment when a CPI method has just created a pod, starts an exec in a mount container, or has just
 * requested the deletion of a pod.
 */
type Moment = 'pod made' | 'holder asked' | 'end requested';

interface Interruption {
  readonly moment: Moment;
  /** Starts at that moment, once, and runs concurrently with the method. */
  readonly action: () => Promise<void>;
}

/**
 * Runs a CPI method during which `action` happens. Resolves or rejects with the method's result after both
 * have ended.
 */
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
        create: async <O extends KubernetesObject>(...args: Parameters<typeof api.create<O>>) => {
          const made = await api.create<O>(...args);
          if (args[0].plural === 'pods') at('pod made');
          return made;
        },
        dryRunCreate: (...args) => api.dryRunCreate(...args),
        replace: (...args) => api.replace(...args),
        patch: (...args) => api.patch(...args),
        delete: async (...args) => {
          await api.delete(...args);
          if (args[0].resource.plural === 'pods') at('end requested');
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
