import { ProductError } from '../../errors/product-error.ts';
import type { RegistryAnswer } from '../../oci/registry/http/registry-transport.ts';

/**
 * The JSON of an answer. Throws DIRECTOR_ERROR for another status than 200 and for what is no JSON. Nothing of the answer is
 * quoted: it may hold a manifest or a token.
 */
export function jsonAnswer(whom: string, { status, body }: RegistryAnswer): unknown {
  if (status !== 200) throw unexpected(whom, `with status ${status}`);
  try {
    return JSON.parse(body.toString('utf8'));
  } catch {
    throw unexpected(whom, 'with what is not JSON');
  }
}

/** The members of a JSON object; of anything else none. */
export const membersOf = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : {};

/** The error for an answer that a director, or a UAA, does not give. */
export const unexpected = (whom: string, how: string): ProductError =>
  new ProductError(
    'DIRECTOR_ERROR',
    `${whom} answers ${how}; check that director.url of the CPI's configuration is the URL of a BOSH director`,
  );
