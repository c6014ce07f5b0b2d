import { ProductError } from '../../errors/product-error.ts';
import { isDnsSubdomain, isLabelValue } from '../../kubernetes/names.ts';

/** A Node object's name and the value of its topology.kubernetes.io/zone. */
export interface NodeArgument {
  readonly name: string;
  readonly zone?: string;
}

/** `NAME` or `NAME=ZONE`, as the command line has it. Throws INVALID_ARGUMENT, which says what kind of node it was to be. */
export function parseNodeArgument(text: string, kind: string): NodeArgument {
  const [name = '', zone, ...rest] = text.split('=');
  const isZone = zone === undefined || (zone !== '' && isLabelValue(zone));
  if (!isDnsSubdomain(name) || !isZone || rest.length > 0) {
    throw new ProductError(
      'INVALID_ARGUMENT',
      `'${text}' is no ${kind}: give NAME or NAME=ZONE, a lowercase host name and the value of a label`,
    );
  }
  return { name, ...(zone !== undefined && { zone }) };
}
