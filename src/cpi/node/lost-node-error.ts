import { ProductError } from '../../errors/product-error.ts';
import type { LostNode } from './node-state.ts';
import { outOfService } from './node-state.ts';

/**
 * NODE_LOST: what could not be done (`VM 'vm-1' was not removed by force`), why the node counts as lost, what is at
 * stake there, and the command by which an operator settles it.
 */
export function lostNodeError(
  what: string,
  { name, since, words }: LostNode,
  stakes: readonly string[],
): ProductError {
  const risk = stakes.length === 0 ? '' : `; in use there may still be ${stakes.join(' and ')}`;
  return new ProductError(
    'NODE_LOST',
    `${what}: its node '${name}' has not answered since ${since} (${words})${risk}. ` +
      `If the node is down for good, run "kubectl taint nodes ${name} ${outOfService}=nodeshutdown:NoExecute" and try again; ` +
      'if it comes back, what was asked for is done then',
  );
}
