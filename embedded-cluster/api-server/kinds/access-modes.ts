import { forbiddenField, required, unsupportedValue } from '../errors/field-causes.ts';
import type { Cause } from '../errors/field-causes.ts';

const abbreviations: Readonly<Record<string, string>> = {
  ReadWriteOnce: 'RWO',
  ReadOnlyMany: 'ROX',
  ReadWriteMany: 'RWX',
  ReadWriteOncePod: 'RWOP',
};

/** Returns the causes for the access modes of a claim or volume. */
export function checkAccessModes(field: string, modes: unknown): Cause[] {
  if (!Array.isArray(modes) || modes.length === 0)
    return [required(field, 'at least 1 access mode is required')];
  if (modes.includes('ReadWriteOncePod') && modes.length > 1) {
    return [forbiddenField(field, 'may not use ReadWriteOncePod with other access modes')];
  }
  return modes
    .filter((mode) => abbreviations[String(mode)] === undefined)
    .map((mode) => unsupportedValue(field, mode, Object.keys(abbreviations).toSorted()));
}

/** Returns the access modes as kubectl prints them: `RWO,RWX`. */
export function shortAccessModes(modes: unknown): string {
  return Array.isArray(modes)
    ? modes.map((mode) => abbreviations[String(mode)] ?? String(mode)).join(',')
    : '';
}
