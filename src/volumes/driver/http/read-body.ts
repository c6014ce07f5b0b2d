import type { IncomingMessage } from 'node:http';

/** Maximum bytes of a request body. The options of a share take some hundred. */
const longest = 256 * 1024;

/** Returns the JSON object in the body of a request. Returns an empty object if there is no body. */
export async function readBody(
  request: IncomingMessage,
): Promise<{ readonly body: Readonly<Record<string, unknown>> } | { readonly fault: string }> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size <= longest) chunks.push(chunk);
  }
  if (size > longest) return { fault: `the body has more than ${longest} bytes` };
  if (size === 0) return { body: {} };
  try {
    const value: unknown = JSON.parse(
      new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks)),
    );
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return { body: { ...value } };
  } catch (error) {
    // the error message of the parser quotes the body, which may contain a password
    if (!(error instanceof SyntaxError || error instanceof TypeError)) throw error;
  }
  return { fault: 'the body is no JSON object in UTF-8' };
}
