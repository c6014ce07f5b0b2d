import { createHash } from 'node:crypto';
import type { PodTemplateSpec } from '../../../kubernetes/workload.ts';

/** Tells the pods of one template of a Deployment from those of another. */
export const hashLabel = 'pod-template-hash';

/** A template as its Deployment has it, to be compared with that one's. */
export function withoutHash({ metadata, spec }: PodTemplateSpec): unknown {
  const { [hashLabel]: _hash, ...labels } = metadata?.labels ?? {};
  return { metadata: { ...metadata, labels }, spec };
}

const alphabet = 'bcdfghjklmnpqrstvwxz2456789';

/** Ten characters that stand for a template: the same one gives the same name, whoever makes the set. */
export function hashOf(template: PodTemplateSpec, collisions: number): string {
  const bytes = createHash('sha256')
    .update(JSON.stringify([sorted(template), collisions]))
    .digest();
  return [...bytes.subarray(0, 10)].map((byte) => alphabet[byte % alphabet.length]).join('');
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).toSorted(([left], [right]) => (left < right ? -1 : 1));
  return Object.fromEntries(entries.map(([key, item]) => [key, sorted(item)]));
}
