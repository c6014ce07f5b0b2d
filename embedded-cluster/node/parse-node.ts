import { ProductError } from '../../src/errors/product-error.ts';
import { isDnsSubdomain, isLabelValue } from '../../src/kubernetes/names.ts';

/** The name of a Node object and the value of its topology.kubernetes.io/zone. */
export interface NodeArgument {
  readonly name: string;
  readonly zone?: string;
}

/** Parses `NAME` or `NAME=ZONE`, a command-line argument. Throws INVALID_ARGUMENT. */
export function parseNodeArgument(text: string): NodeArgument {
  const [name = '', zone, ...rest] = text.split('=');
  const isZone = zone === undefined || (zone !== '' && isLabelValue(zone));
  if (!isDnsSubdomain(name) || !isZone || rest.length > 0) {
    throw new ProductError(
      'INVALID_ARGUMENT',
      `'${text}' is not a valid node: give NAME or NAME=ZONE, a lowercase host name and the value of a label`,
    );
  }
  return { name, ...(zone !== undefined && { zone }) };
}
