import { isObject, type JsonObject } from './fields.ts';

/**
 * Parses a JSON text. Returns undefined if the text is not JSON, because the message of the parser's own
 * error quotes the text, which may contain secrets.
 */
export function tryParseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** Parses a JSON object. Returns undefined if the text is not JSON or contains anything but an object. */
export function parseJsonObject(text: string): JsonObject | undefined {
  const value = tryParseJson(text);
  return isObject(value) ? value : undefined;
}
