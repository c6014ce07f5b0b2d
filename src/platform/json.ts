import { isObject, type JsonObject } from './fields.ts';

/**
 * Parses JSON. Returns undefined if the text is not JSON. The parser's own error would quote the text, which
 * may contain a secret.
 */
export function tryParseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
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
