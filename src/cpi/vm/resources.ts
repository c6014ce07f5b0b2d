import type { Place } from '../input.ts';
import { at, recordAt, refuseUnknownKeys, stringAt, wrong } from '../input.ts';

export interface Resources {
  readonly requests: Readonly<Record<string, string>>;
  readonly limits: Readonly<Record<string, string>>;
}

const quantity = /^[0-9]+(?:\.[0-9]+)?(?:[eE][0-9]{1,2}|m|k|[MGTPE]|[KMGTPE]i)?$/u;

/** `{requests, limits}` of a container: maps of resource name to quantity, numbers allowed. */
export function parseResources(value: unknown, place: Place): Resources {
  const resources = recordAt(value, place);
  refuseUnknownKeys(resources, ['requests', 'limits'], place);
  return {
    requests: quantitiesAt(resources['requests'], at(place, 'requests')),
    limits: quantitiesAt(resources['limits'], at(place, 'limits')),
  };
}

function quantitiesAt(value: unknown, place: Place): Record<string, string> {
  const entries = Object.entries(recordAt(value, place));
  return Object.fromEntries(entries.map(([name, given]) => [name, quantityAt(given, at(place, name))]));
}

/** A quantity as text; a number is itself. */
export function quantityAt(value: unknown, place: Place): string {
  const text = typeof value === 'number' ? String(value) : stringAt(value, place);
  if (!quantity.test(text)) throw wrong(place, 'is not a Kubernetes quantity such as 500m, 2 or 4Gi');
  return text;
}
