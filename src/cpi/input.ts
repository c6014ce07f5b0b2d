import type { ErrorCode } from '../errors/error-table.ts';
import { ProductError } from '../errors/product-error.ts';

export type Json = Record<string, unknown>;

/** The location of a value, for the error message: `INVALID_CONFIG` and `kubernetes.namespace`. */
export interface Location {
  readonly code: Extract<ErrorCode, 'INVALID_ARGUMENT' | 'INVALID_CONFIG'>;
  readonly path: string;
}

export const child = (place: Location, key: string | number): Location => ({
  ...place,
  path: `${place.path}.${key}`,
});

/** Returns the error for an invalid value. It never quotes the value, which may be a secret. */
export function invalidValue(place: Location, expected: string): ProductError {
  return new ProductError(place.code, `${place.path} ${expected}`);
}

/** Returns the value as an object. Null and absent count as empty, because BOSH sends them so. */
export function recordAt(value: unknown, place: Location): Json {
  if (value === undefined || value === null) return {};
  if (typeof value !== 'object' || Array.isArray(value)) throw invalidValue(place, 'has to be an object');
  return value as Json;
}

export function stringAt(value: unknown, place: Location): string {
  if (typeof value !== 'string' || value === '')
    throw invalidValue(place, 'has to be a string that is not empty');
  return value;
}

export function optionalStringAt(value: unknown, place: Location): string | undefined {
  return value === undefined || value === null ? undefined : stringAt(value, place);
}

/**
 * The largest number of MiB that a Kubernetes quantity can have in bytes (apimachinery: pkg/api/resource,
 * int64).
 */
const maxInteger = 2 ** 43 - 1;

/**
 * Returns the value as a positive integer: a size in MiB, a number of cores or of seconds. No cluster has
 * more of anything than the upper limit.
 */
export function positiveIntegerAt(value: unknown, place: Location): number {
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value <= 0 || value > maxInteger) {
    throw invalidValue(place, `has to be a whole number from 1 to ${maxInteger}`);
  }
  return value;
}

export function booleanAt(value: unknown, place: Location): boolean | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value !== 'boolean') throw invalidValue(place, 'has to be true or false');
  return value;
}

export function stringsAt(value: unknown, place: Location): string[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) throw invalidValue(place, 'has to be a list of strings');
  return value.map((item, index) => stringAt(item, child(place, index)));
}

/**
 * Rejects keys that the CPI does not read, instead of ignoring them: a misspelt key, or one of a later
 * feature, must not pass silently.
 */
export function rejectUnknownKeys(value: Json, known: readonly string[], place: Location): void {
  const unknown = Object.keys(value).filter((key) => !known.includes(key));
  if (unknown.length === 0) return;
  const names = unknown.map((key) => `"${key}"`).join(', ');
  const allowed = known.length === 0 ? 'none is known' : `known are ${known.join(', ')}`;
  throw invalidValue(place, `has keys that this CPI does not support: ${names} (${allowed})`);
}

/** Returns whether none of the keys has a value: the job renders null for each property that is not set. */
export function isUnset(section: Json, keys: readonly string[]): boolean {
  return keys.every((key) => (section[key] ?? undefined) === undefined);
}
