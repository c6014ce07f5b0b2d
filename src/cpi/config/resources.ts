import type { Field } from '../../platform/field.ts';
import { parseMilli } from '../../kubernetes/types/quantity.ts';

type Quantities = Readonly<Record<string, string>>;

export interface Resources {
  readonly requests: Quantities;
  readonly limits: Quantities;
}

const quantity = /^[0-9]+(?:\.[0-9]+)?(?:[eE][0-9]{1,2}|m|k|[MGTPE]|[KMGTPE]i)?$/u;

/**
 * Parses `{requests, limits}` of a container: maps of resource name to quantity, numbers allowed. Rejects a
 * request above its limit, as the API would (core/validation: ValidateResourceRequirements).
 */
export function parseResources(field: Field): Resources {
  field.rejectUnknownKeys(['requests', 'limits']);
  const parsed = {
    requests: readQuantities(field.get('requests')),
    limits: readQuantities(field.get('limits')),
  };
  assertWithinLimits(parsed, field);
  return parsed;
}

/** Rejects a request above the limit of the same resource. `field` has the `{requests, limits}`. */
export function assertWithinLimits({ requests, limits }: Resources, field: Field): void {
  for (const [name, limit] of Object.entries(limits)) {
    const request = Object.hasOwn(requests, name) ? requests[name] : undefined;
    if (request === undefined || !isGreater(request, limit)) continue;
    throw field.get('limits').get(name).error(`is ${limit}, less than the ${request} that are requested`);
  }
}

/**
 * Returns the requested resources, completed with the defaults. Because a request may not exceed its limit, a
 * default that contradicts a requested value is changed: a smaller default limit is raised to the request, a
 * larger default request is lowered to the limit.
 */
export function withDefaults(requested: Resources, defaults: Resources): Resources {
  return {
    requests: { ...replaced(defaults.requests, requested.limits, isGreater), ...requested.requests },
    limits: { ...atLeast(requested.requests, defaults.limits), ...requested.limits },
  };
}

/** Returns the limits, each raised to the request of the same resource if it is smaller. */
export const atLeast = (requests: Quantities, limits: Quantities): Record<string, string> =>
  replaced(limits, requests, (limit, request) => isGreater(request, limit));

function replaced(
  given: Quantities,
  others: Quantities,
  doReplace: (one: string, other: string) => boolean,
): Record<string, string> {
  const entries: [string, string][] = [];
  for (const [name, one] of Object.entries(given)) {
    const other = Object.hasOwn(others, name) ? others[name] : undefined;
    entries.push([name, other !== undefined && doReplace(one, other) ? other : one]);
  }
  return Object.fromEntries(entries);
}

const isGreater = (one: string, other: string): boolean =>
  (parseMilli(one) ?? 0n) > (parseMilli(other) ?? 0n);

const readQuantities = (field: Field): Record<string, string> =>
  Object.fromEntries(field.entries().map(([name, amount]) => [name, readQuantity(amount)]));

/** Returns a quantity as text. A number is accepted too. */
export function readQuantity(field: Field): string {
  const text = typeof field.value === 'number' ? String(field.value) : field.nonEmptyString();
  if (!quantity.test(text)) throw field.error('is not a Kubernetes quantity such as 500m, 2 or 4Gi');
  return text;
}
