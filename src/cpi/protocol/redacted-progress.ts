import { isProductError } from '../../errors/product-error.ts';

/**
 * Returns a function that prints lines for the operator in their order, without the secrets that the call
 * knows when it prints them: an exec plugin may issue another token at any time. If the secrets cannot be
 * read, it prints a line that reports this instead, because the text could contain a secret, and the message
 * of that error could, too.
 */
export function redactedProgress(
  say: (line: string) => void,
  openRedactor: () => Promise<(text: string) => string>,
): (line: string) => void {
  let previous = Promise.resolve();
  return (line) => {
    const redacted = openRedactor().then(
      (redact) => redact(line),
      (error: unknown) =>
        `a progress line of this call is not shown: the secrets to remove from it could not be read [${nameOf(error)}]`,
    );
    previous = Promise.all([redacted, previous]).then(([text]) => say(text));
  };
}

function nameOf(error: unknown): string {
  if (isProductError(error)) return error.code;
  return error instanceof Error ? error.name : typeof error;
}
