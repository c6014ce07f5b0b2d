/** A JSON or YAML object from outside. */
export type JsonObject = Readonly<Record<string, unknown>>;

/** Returns true for `{...}`, not for arrays and null. */
export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/**
 * Parses JSON. Returns undefined if the text is not JSON, or nested more deeply than the runtime's stack
 * allows. The parser's own error would quote the text, which may contain a secret.
 */
export function tryParseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof RangeError) return undefined;
    throw error;
  }
}

/** Parses a JSON object. Returns undefined if the text is something else. */
export function parseJsonObject(text: string): JsonObject | undefined {
  const value = tryParseJson(text);
  return isObject(value) ? value : undefined;
}

/** Decodes UTF-8. Returns undefined if the bytes are something else, which `toString` would replace. */
export function tryDecodeUtf8(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (error) {
    if (error instanceof TypeError) return undefined;
    throw error;
  }
}
