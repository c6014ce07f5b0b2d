/** Of one answer or one list; 500 large pods have some hundred thousand. */
export const maxJsonValues = 4 * 1024 * 1024;

/**
 * How many values a JSON text may have, without parsing it: `{}` takes thirty times its text's memory, so that the length of a
 * text alone does not limit what it becomes.
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
