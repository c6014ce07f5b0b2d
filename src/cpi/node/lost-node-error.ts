import { ProductError } from '../../errors/product-error.ts';
import type { LostNode } from './node-state.ts';
import { outOfService } from './node-state.ts';

interface NodeLoss {
  /** Resources that may still be in use on the node: `disk 'disk-1'`. */
  readonly stakes: readonly string[];
  /** True if the objects in question are being deleted: Kubernetes then completes the deletion by itself. */
  readonly isDeleting: boolean;
}

/**
 * Returns a NODE_LOST that names what could not be done (`VM 'vm-1' was not removed by force`), why the node
 * counts as lost, what may still be in use there, the command by which an operator declares the node dead,
 * and what to do if the node comes back.
 */
export function lostNodeError(
  what: string,
  { name, since, words }: LostNode,
  { stakes, isDeleting }: NodeLoss,
): ProductError {
  const risk = stakes.length === 0 ? '' : `; in use there may still be ${stakes.join(' and ')}`;
  return new ProductError(
    'NODE_LOST',
    `${what}: its node '${name}' has not answered since ${since} (${words})${risk}. ` +
      `If the node is down for good, run "kubectl taint nodes ${name} ${outOfService}=nodeshutdown:NoExecute" and try again; ` +
      `if it comes back, ${isDeleting ? 'the deletion goes on by itself' : 'run the call again'}`,
  );
}
