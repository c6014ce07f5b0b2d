import { copyJson, isRecord } from '../schema/json.ts';
import type { JsonRecord } from '../schema/json.ts';

/**
 * Applies an RFC 7386 patch: null deletes, objects merge, everything else replaces. Changes neither argument.
 */
export function applyMergePatch(target: unknown, patch: unknown): unknown {
  if (!isRecord(patch)) return copyJson(patch);
  const merged: JsonRecord = isRecord(target) ? { ...target } : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete merged[key];
    else setMember(merged, key, applyMergePatch(merged[key], value));
  }
  return merged;
}

/** Sets a member. Unlike an assignment, it treats `__proto__` as a plain key, as JSON does. */
function setMember(record: JsonRecord, key: string, value: unknown): void {
  Object.defineProperty(record, key, { value, writable: true, enumerable: true, configurable: true });
}
