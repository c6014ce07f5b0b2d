import { ProductError } from '../../errors/product-error.ts';
import type { RegistryAnswer } from './http/registry-transport.ts';
import { isObject } from '../../platform/json.ts';

export interface ErrorOptions {
  readonly note?: string | undefined;
  /** Removes secrets from the registry's messages. */
  readonly redact: (text: string) => string;
}

/** Returns the error for an unexpected response. `subject` names the registry and the operation. */
export function registryError(answer: RegistryAnswer, subject: string, parts: ErrorOptions): ProductError {
  const { status } = answer;
  const serverMessage = messageOf(answer, parts.redact);
  const details = [parts.note, serverMessage === undefined ? undefined : `it says: ${serverMessage}`];
  const cause = [`answered ${status}`, ...details.filter((text) => text !== undefined)].join('; ');
  switch (status) {
    case 401:
    case 403:
      return new ProductError(
        'REGISTRY_UNAUTHORIZED',
        `${subject}: ${cause}; check the registry's user and password, and what the user may do there`,
      );
    case 429:
      return new ProductError('REGISTRY_BUSY', `${subject}: ${cause}; try again later`);
    default:
      return new ProductError(
        status >= 500 ? 'REGISTRY_BUSY' : 'REGISTRY_ERROR',
        `${subject}: ${cause}${status >= 500 ? '; look at the log of the registry' : ''}`,
      );
  }
}

/** Returns the codes of a registry's error (distribution-spec, error codes), such as UNSUPPORTED. */
export function errorCodes({ body }: RegistryAnswer): readonly string[] {
  return errorsIn(body).flatMap(({ code }) => (typeof code === 'string' ? [code] : []));
}

function messageOf({ body }: RegistryAnswer, redact: ErrorOptions['redact']): string | undefined {
  const texts = errorsIn(body).map(({ code, message }) =>
    [code, message].filter((text) => typeof text === 'string' && text !== '').join(' '),
  );
  const text = texts.filter((entry) => entry !== '').join(', ');
  // The text is untrusted. It is redacted first, because a secret that was cut would not be recognized. Then
  // one line of 300 characters is kept.
  return text === ''
    ? undefined
    : redact(text)
        .replaceAll(/[^\x20-\x7e]+/gu, ' ')
        .slice(0, 300);
}

function errorsIn(body: Buffer): readonly Readonly<Record<string, unknown>>[] {
  let value: unknown;
  try {
    value = JSON.parse(body.toString('utf8'));
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    return [];
  }
  const errors = isObject(value) ? value['errors'] : undefined;
  return Array.isArray(errors) ? errors.filter((entry) => isObject(entry)) : [];
}
