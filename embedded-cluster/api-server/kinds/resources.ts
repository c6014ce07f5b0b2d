import { invalidValue, required } from '../errors/field-causes.ts';
import type { Cause } from '../errors/field-causes.ts';
import { isRecord } from '../schema/json.ts';
import { parseQuantity } from './quantity.ts';

const quantityText =
  "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";

/** Returns the causes for a quantity that is missing, malformed or not above zero. */
export function checkQuantity(field: string, value: unknown): Cause[] {
  if (typeof value !== 'string') return [required(field)];
  const parsed = parseQuantity(value);
  if (parsed === undefined) return [invalidValue(field, value, quantityText)];
  return parsed > 0n ? [] : [invalidValue(field, value, 'must be greater than zero')];
}

/** Resources of the embedded node. The scheduler here could not place pods with others (GPUs, huge pages). */
const knownResources = ['cpu', 'memory', 'ephemeral-storage'];

/**
 * Returns the causes for `resources` of a container: names must be known, quantities valid, and requests not
 * above limits.
 */
export function checkContainerResources(field: string, resources: unknown): Cause[] {
  if (!isRecord(resources)) return [];
  const requests = isRecord(resources['requests']) ? resources['requests'] : {};
  const limits = isRecord(resources['limits']) ? resources['limits'] : {};
  return [
    ...Object.entries(limits).flatMap(([name, value]) => checkResource(`${field}.limits`, name, value)),
    ...Object.entries(requests).flatMap(([name, value]) => checkResource(`${field}.requests`, name, value)),
    ...Object.entries(requests)
      .filter(([name, value]) => exceeds(value, limits[name]))
      .map(([name, value]) =>
        invalidValue(
          `${field}.requests`,
          value,
          `must be less than or equal to ${name} limit of ${String(limits[name])}`,
        ),
      ),
  ];
}

function checkResource(field: string, name: string, value: unknown): Cause[] {
  const path = `${field}[${name}]`;
  if (!knownResources.includes(name)) {
    return [invalidValue(path, name, `the embedded cluster has only ${knownResources.join(', ')}`)];
  }
  const parsed = parseQuantity(String(value));
  if (parsed === undefined) return [invalidValue(path, value, quantityText)];
  return parsed >= 0n ? [] : [invalidValue(path, value, 'must be greater than or equal to 0')];
}

function exceeds(request: unknown, limit: unknown): boolean {
  if (typeof request !== 'string' || typeof limit !== 'string') return false;
  const asked = parseQuantity(request);
  const allowed = parseQuantity(limit);
  return asked !== undefined && allowed !== undefined && asked > allowed;
}
