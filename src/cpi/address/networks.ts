import { ProductError } from '../../errors/product-error.ts';
import type { Json, Location } from '../input.ts';
import { child, recordAt, invalidValue } from '../input.ts';
import { isPodInterface } from './network.ts';
import type { Network } from './network.ts';
import { parseNetwork } from './network.ts';

export interface Networks {
  /** The networks hash as received, for the settings and the result. */
  readonly given: Readonly<Record<string, Json>>;
  /**
   * The networks of the pod's own interface: one dynamic, or one manual of each family. May be empty if
   * Multus adds interfaces.
   */
  readonly podNetworks: readonly Network[];
  /** The networks for which Multus adds interfaces. */
  readonly multusNetworks: readonly Network[];
  readonly vips: readonly Network[];
}

/**
 * Parses the networks argument of create_vm. A pod has one interface, with one address of each family; every
 * other network needs a `network_attachment`, and a vip is a Service. A missing type means manual (old CLIs
 * leave it out: bosh-softlayer-cpi-release#130). Throws INVALID_ARGUMENT for a wrong shape, NOT_SUPPORTED for
 * what a pod cannot have.
 */
export function parseNetworks(value: unknown, place: Location): Networks {
  const entries = Object.entries(recordAt(value, place)).map(
    ([name, network]) => [name, recordAt(network, child(place, name))] as const,
  );
  const all = entries.map(([name, network]) => parseNetwork(name, network, child(place, name)));
  const vips = all.filter(({ type }) => type === 'vip');
  const attached = all.filter(({ properties }) => properties.attachment !== undefined);
  const own = all.filter(isPodInterface);
  if (own.length + attached.length === 0)
    throw invalidValue(place, vips.length === 0 ? 'names no network' : 'names no network but vip');
  rejectSecondInterface(own, place);
  return { given: Object.fromEntries(entries), podNetworks: own, multusNetworks: attached, vips };
}

function rejectSecondInterface(own: readonly Network[], place: Location): void {
  const families = own.map(({ family }) => family);
  const groups = new Set(own.map(({ nicGroup }) => nicGroup).filter((group) => group !== undefined));
  const isSingle = own.length < 2 || (new Set(families).size === own.length && !families.includes(undefined));
  if (isSingle && groups.size < 2) return;
  throw new ProductError(
    'NOT_SUPPORTED',
    `${place.path}: a pod has one interface with one address of each family, but ` +
      `${own.map(({ name }) => name).join(', ')} were asked for; give the others ` +
      'cloud_properties.network_attachment (with Multus), or leave them out',
  );
}
