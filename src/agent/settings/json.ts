export type JsonObject = Readonly<Record<string, unknown>>;

/** Returns true for a JSON object, and false for an array or null. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
