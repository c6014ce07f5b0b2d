declare global {
  interface JSON {
    /** Returns a value that `stringify` writes as this text. */
    rawJSON(text: string): object;
  }
}

/** Works as JSON.stringify, but writes a bigint with all its digits, as the bosh CLI writes whole numbers. */
export function toJson(value: unknown, indent?: number): string {
  const exact = (_: string, item: unknown): unknown =>
    typeof item === 'bigint' ? JSON.rawJSON(String(item)) : item;
  return JSON.stringify(value, exact, indent);
}

/**
 * Works as JSON.parse, but returns a bigint for a whole number that a `number` cannot represent exactly.
 * Throws SyntaxError for invalid JSON.
 */
export function fromJson(text: string): unknown {
  return JSON.parse(text, (_: string, value: unknown, context?: { readonly source?: string }): unknown => {
    const source = context?.source ?? '';
    const isLarge = typeof value === 'number' && !Number.isSafeInteger(value) && /^-?[0-9]+$/.test(source);
    return isLarge ? BigInt(source) : value;
  });
}
