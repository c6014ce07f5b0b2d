import { copyJson, isRecord } from '../schema/json.ts';
import type { JsonRecord } from '../schema/json.ts';

/** RFC 7386: null deletes, objects merge, everything else replaces. Changes neither argument. */
export function applyMergePatch(target: unknown, patch: unknown): unknown {
  if (!isRecord(patch)) return copyJson(patch);
  const merged: JsonRecord = isRecord(target) ? { ...target } : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete merged[key];
    else setMember(merged, key, applyMergePatch(merged[key], value));
  }
  return merged;
}

/** Assignment that takes `__proto__` for the plain key that it is in JSON. */
function setMember(record: JsonRecord, key: string, value: unknown): void {
  Object.defineProperty(record, key, { value, writable: true, enumerable: true, configurable: true });
}
