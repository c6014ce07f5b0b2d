import { ProductError } from '../../errors/product-error.ts';

/** An object has at most 1.5 MiB in etcd, and somewhat more as JSON. */
const maxLineChars = 16 * 1024 * 1024;

/**
 * Yields the JSON value of each line of a stream. Drops a last line without a line break, because it was cut
 * off. Throws KUBERNETES_API for a line that is longer than any object.
 */
export async function* readJsonLines(chunks: AsyncIterable<Uint8Array>): AsyncGenerator {
  const decoder = new TextDecoder();
  let buffer: string[] = [];
  let length = 0;
  for await (const chunk of chunks) {
    const text = decoder.decode(chunk, { stream: true });
    const lines = text.split('\n');
    const rest = lines.pop() ?? '';
    for (const line of lines) {
      const whole = buffer.join('') + line;
      buffer = [];
      length = 0;
      if (whole.trim() !== '') {
        yield JSON.parse(whole);
      }
    }
    buffer.push(rest);
    length += rest.length;
    if (length > maxLineChars)
      throw new ProductError(
        'KUBERNETES_API',
        `the Kubernetes API sends a line of more than ${maxLineChars} characters in a watch; check that the kubeconfig names the right server`,
      );
  }
}

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
