/** In hex. node:crypto is loaded for the calls that need it: it costs more than a millisecond. */
export const sha256 = (text: string): string =>
  process.getBuiltinModule('node:crypto').createHash('sha256').update(text).digest('hex');
