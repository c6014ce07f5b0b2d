import { unsupportedValue } from '../../errors/field-causes.ts';
import type { Cause } from '../../errors/field-causes.ts';

/** Returns a cause if the value is set and is not one of `supported`. */
export function checkEnum(field: string, value: string | undefined, supported: readonly string[]): Cause[] {
  return value === undefined || supported.includes(value) ? [] : [unsupportedValue(field, value, supported)];
}
