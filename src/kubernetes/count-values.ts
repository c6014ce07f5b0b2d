/** The limit for one response or one list. 500 large pods have some hundred thousand values. */
export const maxJsonValues = 4 * 1024 * 1024;

/**
 * Returns an upper bound of the number of values in a JSON text, without parsing it. An empty object takes 30
 * times the memory of its text, so a limit on the length is not enough.
 */
export function countValues(text: string): number {
  let count = 0;
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    // [ , {
    if (code === 0x2c || code === 0x5b || code === 0x7b) count += 1;
  }
  return count;
}
