import { ProductError } from '../errors/product-error.ts';
import type { ErrorCode } from '../errors/error-table.ts';
import { isObject, type JsonObject } from './json.ts';

/** Makes the error for an invalid value. `path` is empty for the whole document. */
export type CreateFieldError = (path: string, problem: string) => Error;

export interface IntegerRange {
  readonly min: number;
  readonly max: number;
}

/**
 * A value of a JSON or YAML document from outside, with its path in the document. The methods that read it
 * throw if it has the wrong type. The error names the path and never quotes the value, which may be a secret.
 * Null counts as absent, because BOSH and Go write null for a value that is not set.
 */
export class Field {
  /** Undefined for null and absent. */
  readonly value: unknown;
  readonly path: string;
  readonly #createError: CreateFieldError;

  /** If an error code is given, the message of an error is the path and the problem. */
  constructor(value: unknown, path: string, error: ErrorCode | CreateFieldError) {
    this.value = value ?? undefined;
    this.path = path;
    this.#createError =
      typeof error === 'function'
        ? error
        : (location, problem) => new ProductError(error, `${location} ${problem}`);
  }

  get isPresent(): boolean {
    return this.value !== undefined;
  }

  /** Returns this field if it has a value, for `field.get('key').optional()?.string()`. */
  optional(): Field | undefined {
    return this.isPresent ? this : undefined;
  }

  /** Returns this field. Throws if it has no value, for `field.required().record()`. */
  required(): Field {
    if (this.isPresent) return this;
    throw this.error('is missing');
  }

  /** Returns the field of a key, which may be absent. An absent object has no keys. */
  get(key: string): Field {
    const record = this.record();
    return this.#child(key, Object.hasOwn(record, key) ? record[key] : undefined);
  }

  /** Returns the keys of an object with their fields; none if the object is absent. */
  entries(): (readonly [key: string, field: Field])[] {
    return Object.entries(this.record()).map(([key, value]) => [key, this.#child(key, value)] as const);
  }

  /** Returns the object; an empty one if it is absent. */
  record(): JsonObject {
    if (!this.isPresent) return {};
    if (isObject(this.value)) return this.value;
    throw this.#mustBe('an object');
  }

  /** Returns the fields of a list; none if it is absent. */
  list(): readonly Field[] {
    if (!this.isPresent) return [];
    if (!Array.isArray(this.value)) throw this.#mustBe('a list');
    return this.value.map((item, index) => new Field(item, `${this.path}[${index}]`, this.#createError));
  }

  /** Returns the items of a list of strings that are not empty; none if the list is absent. */
  strings(): readonly string[] {
    return this.list().map((item) => item.nonEmptyString());
  }

  string(): string {
    if (typeof this.value === 'string') return this.value;
    throw this.#mustBe('a string');
  }

  nonEmptyString(): string {
    if (typeof this.value === 'string' && this.value !== '') return this.value;
    throw this.#mustBe('a string that is not empty');
  }

  /** Returns a string that is not empty and passes the test. `problem` is the error for any other string. */
  stringThat(passes: (text: string) => boolean, problem: string): string {
    const text = this.nonEmptyString();
    if (passes(text)) return text;
    throw this.error(problem);
  }

  boolean(): boolean {
    if (typeof this.value === 'boolean') return this.value;
    throw this.#mustBe('true or false');
  }

  integer(range?: IntegerRange): number {
    const { value } = this;
    const { min, max } = range ?? { min: Number.MIN_SAFE_INTEGER, max: Number.MAX_SAFE_INTEGER };
    if (typeof value === 'number' && Number.isSafeInteger(value) && value >= min && value <= max)
      return value;
    throw this.#mustBe(range === undefined ? 'a whole number' : `a whole number from ${min} to ${max}`);
  }

  oneOf<const T extends string>(values: readonly T[]): T {
    const known = values.find((value) => value === this.value);
    if (known !== undefined) return known;
    throw this.#mustBe(values.join(', ').replace(/, (?=[^,]*$)/u, ' or '));
  }

  /**
   * Rejects an object with any other keys: a misspelt key, or one of a later version, would have no effect
   * that its author notices.
   */
  rejectUnknownKeys(known: readonly string[]): void {
    const unknown = Object.keys(this.record()).filter((key) => !known.includes(key));
    if (unknown.length === 0) return;
    const names = unknown.map((key) => `"${key}"`).join(', ');
    const allowed = known.length === 0 ? 'none is known' : `known are ${known.join(', ')}`;
    throw this.error(`has keys that are not supported: ${names} (${allowed})`);
  }

  /** Returns the error for this value. `problem` continues a sentence that begins with the path. */
  error(problem: string): Error {
    return this.#createError(this.path, problem);
  }

  #mustBe(expected: string): Error {
    return this.error(this.isPresent ? `must be ${expected}` : `is missing; it must be ${expected}`);
  }

  #child(key: string, value: unknown): Field {
    return new Field(value, this.path === '' ? key : `${this.path}.${key}`, this.#createError);
  }
}
