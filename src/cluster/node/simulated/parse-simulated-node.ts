import { ProductError } from '../../../errors/product-error.ts';
import { isDnsSubdomain, isLabelValue } from '../../../kubernetes/names.ts';
import type { SimulatedNode } from './simulated-node-object.ts';

/** `NAME` or `NAME=ZONE`, as the command line has it. Throws INVALID_ARGUMENT. */
export function parseSimulatedNode(text: string): SimulatedNode {
  const [name = '', zone, ...rest] = text.split('=');
  const isZone = zone === undefined || (zone !== '' && isLabelValue(zone));
  if (!isDnsSubdomain(name) || !isZone || rest.length > 0) {
    throw new ProductError(
      'INVALID_ARGUMENT',
      `'${text}' is no simulated node: give NAME or NAME=ZONE, a lowercase host name and the value of a label`,
    );
  }
  return { name, ...(zone !== undefined && { zone }) };
}
