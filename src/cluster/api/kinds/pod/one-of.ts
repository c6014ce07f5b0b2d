import { unsupportedValue } from '../../errors/field-causes.ts';
import type { Cause } from '../../errors/field-causes.ts';

/** A cause where the value is given and not one of these. */
export function checkEnum(field: string, value: string | undefined, supported: readonly string[]): Cause[] {
  return value === undefined || supported.includes(value) ? [] : [unsupportedValue(field, value, supported)];
}
