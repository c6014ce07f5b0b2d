import { invalidValue } from '../errors/field-causes.ts';
import type { Cause } from '../errors/field-causes.ts';
import { hasFormat } from './formats.ts';
import type { StructuralSchema } from './structural-schema.ts';

/** Causes for a text: length in characters, pattern, format. */
export function checkText(schema: StructuralSchema, value: string, path: string): Cause[] {
  const { minLength = 0, maxLength = Infinity, pattern, format } = schema;
  const length = Array.from(value).length;
  const fail = (detail: string): Cause => invalidValue(path, value, detail);
  return [
    ...(length < minLength ? [fail(`${path} in body should be at least ${minLength} chars long`)] : []),
    ...(length > maxLength ? [fail(`${path} in body should be at most ${maxLength} chars long`)] : []),
    ...(pattern !== undefined && !new RegExp(pattern).test(value)
      ? [fail(`${path} in body should match '${pattern}'`)]
      : []),
    ...(format !== undefined && !hasFormat(format, value)
      ? [fail(`${path} in body must be of type ${format}: ${JSON.stringify(value)}`)]
      : []),
  ];
}

/** Causes for a number: bounds, steps, format. */
export function checkNumber(schema: StructuralSchema, value: number, path: string): Cause[] {
  const { minimum = -Infinity, maximum = Infinity, multipleOf, format } = schema;
  const fail = (detail: string): Cause => invalidValue(path, value, `${path} in body ${detail}`);
  const below = schema.exclusiveMinimum === true ? value <= minimum : value < minimum;
  const above = schema.exclusiveMaximum === true ? value >= maximum : value > maximum;
  return [
    ...(below
      ? [fail(`should be greater than ${schema.exclusiveMinimum === true ? '' : 'or equal to '}${minimum}`)]
      : []),
    ...(above
      ? [fail(`should be less than ${schema.exclusiveMaximum === true ? '' : 'or equal to '}${maximum}`)]
      : []),
    ...(multipleOf !== undefined && value % multipleOf !== 0
      ? [fail(`should be a multiple of ${multipleOf}`)]
      : []),
    ...(format !== undefined && !hasFormat(format, value) ? [fail(`must be of type ${format}`)] : []),
  ];
}
