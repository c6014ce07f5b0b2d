declare global {
  interface JSON {
    /** A value that `stringify` writes as this text. */
    rawJSON(text: string): object;
  }
}

/** As JSON.stringify, and a bigint is written with all its digits, as the bosh CLI writes whole numbers. */
export function toJson(value: unknown, indent?: number): string {
  const exact = (_: string, item: unknown): unknown =>
    typeof item === 'bigint' ? JSON.rawJSON(String(item)) : item;
  return JSON.stringify(value, exact, indent);
}

/** As JSON.parse, and a whole number that no `number` holds exactly is a bigint. SyntaxError for what is no JSON. */
export function fromJson(text: string): unknown {
  return JSON.parse(text, (_: string, value: unknown, context?: { readonly source?: string }): unknown => {
    const source = context?.source ?? '';
    const isLarge = typeof value === 'number' && !Number.isSafeInteger(value) && /^-?[0-9]+$/.test(source);
    return isLarge ? BigInt(source) : value;
  });
}
