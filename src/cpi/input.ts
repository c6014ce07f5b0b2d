import type { ErrorCode } from '../errors/error-table.ts';
import { ProductError } from '../errors/product-error.ts';

export type Json = Record<string, unknown>;

/** Where a value stands, for the error message: `INVALID_CONFIG` and `kubernetes.namespace`. */
export interface Place {
  readonly code: Extract<ErrorCode, 'INVALID_ARGUMENT' | 'INVALID_CONFIG'>;
  readonly path: string;
}

export const at = (place: Place, key: string | number): Place => ({ ...place, path: `${place.path}.${key}` });

/** Never quotes the value: it may be a secret. */
export function wrong(place: Place, expected: string): ProductError {
  return new ProductError(place.code, `${place.path} ${expected}`);
}

/** An object; null and absent count as empty, as BOSH sends them. */
export function recordAt(value: unknown, place: Place): Json {
  if (value === undefined || value === null) return {};
  if (typeof value !== 'object' || Array.isArray(value)) throw wrong(place, 'has to be an object');
  return value as Json;
}

export function stringAt(value: unknown, place: Place): string {
  if (typeof value !== 'string' || value === '') throw wrong(place, 'has to be a string that is not empty');
  return value;
}

export function optionalStringAt(value: unknown, place: Place): string | undefined {
  return value === undefined || value === null ? undefined : stringAt(value, place);
}

/** MiB of what a Kubernetes quantity can say in bytes (apimachinery: pkg/api/resource, int64). */
const largest = 2 ** 43 - 1;

/** A size in MiB, a number of cores or of seconds: no cluster has more than `largest` of anything. */
export function positiveIntegerAt(value: unknown, place: Place): number {
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value <= 0 || value > largest) {
    throw wrong(place, `has to be a whole number from 1 to ${largest}`);
  }
  return value;
}

export function booleanAt(value: unknown, place: Place): boolean | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value !== 'boolean') throw wrong(place, 'has to be true or false');
  return value;
}

export function stringsAt(value: unknown, place: Place): string[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) throw wrong(place, 'has to be a list of strings');
  return value.map((item, index) => stringAt(item, at(place, index)));
}

/** Keys that we do not read are errors, never ignored: a misspelt or a later feature's key must not pass silently. */
export function refuseUnknownKeys(value: Json, known: readonly string[], place: Place): void {
  const unknown = Object.keys(value).filter((key) => !known.includes(key));
  if (unknown.length === 0) return;
  const names = unknown.map((key) => `"${key}"`).join(', ');
  const allowed = known.length === 0 ? 'none is known' : `known are ${known.join(', ')}`;
  throw wrong(place, `has keys that this CPI does not support: ${names} (${allowed})`);
}

/** Whether none of the keys has a value: the job renders a null for each property that is not given. */
export function isUngiven(section: Json, keys: readonly string[]): boolean {
  return keys.every((key) => (section[key] ?? undefined) === undefined);
}
