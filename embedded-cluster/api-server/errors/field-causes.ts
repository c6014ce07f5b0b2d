/** One reason in a 422, with the text of apimachinery pkg/util/validation/field/errors.go. */
export interface Cause {
  reason: string;
  message: string;
  field: string;
}

const quote = (value: unknown): string => JSON.stringify(value) ?? 'null';

export function required(field: string, detail = ''): Cause {
  return {
    reason: 'FieldValueRequired',
    message: detail === '' ? 'Required value' : `Required value: ${detail}`,
    field,
  };
}

export function invalidValue(field: string, value: unknown, detail: string): Cause {
  return { reason: 'FieldValueInvalid', message: `Invalid value: ${quote(value)}: ${detail}`, field };
}

/** Returns the cause for a value of another JSON type than its schema has. */
export function wrongType(field: string, value: unknown, detail: string): Cause {
  return { ...invalidValue(field, value, detail), reason: 'FieldValueTypeInvalid' };
}

export function duplicate(field: string, value: unknown): Cause {
  return { reason: 'FieldValueDuplicate', message: `Duplicate value: ${quote(value)}`, field };
}

export function forbiddenField(field: string, detail: string): Cause {
  return { reason: 'FieldValueForbidden', message: `Forbidden: ${detail}`, field };
}

export function referenceNotFound(field: string, value: unknown): Cause {
  return { reason: 'FieldValueNotFound', message: `Not found: ${quote(value)}`, field };
}

export function unsupportedValue(field: string, value: unknown, supported: readonly string[]): Cause {
  const list = supported.map(quote).join(', ');
  return {
    reason: 'FieldValueNotSupported',
    message: `Unsupported value: ${quote(value)}: supported values: ${list}`,
    field,
  };
}

export function tooLong(field: string, bytes: number): Cause {
  return { reason: 'FieldValueTooLong', message: `Too long: may not be more than ${bytes} bytes`, field };
}

/**
 * Returns the cause for a value that Kubernetes supports and the embedded cluster does not: it is rejected,
 * never ignored.
 */
export function unsupported(field: string, what: string): Cause {
  return forbiddenField(field, `the embedded cluster does not support ${what}`);
}
