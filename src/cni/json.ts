export type JsonObject = Readonly<Record<string, unknown>>;

/** True for `{...}`, not for arrays and null. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Parses a JSON text; undefined if it is invalid, or nested more deeply than the runtime's stack allows. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof RangeError) return undefined;
    throw error;
  }
}
