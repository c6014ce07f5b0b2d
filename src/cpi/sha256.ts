/**
 * Returns the SHA-256 digest of a text in hex. node:crypto is loaded on demand: loading it takes more than a
 * millisecond, and most calls do not need it.
 */
export const sha256 = (text: string): string =>
  process.getBuiltinModule('node:crypto').createHash('sha256').update(text).digest('hex');
