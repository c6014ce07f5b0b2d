import { isIP } from 'node:net';
import { ProductError } from '../../errors/product-error.ts';
import type { Json, Place } from '../input.ts';
import { at, recordAt, refuseUnknownKeys, stringAt, wrong } from '../input.ts';

export interface Networks {
  /** The networks hash as it came, for the settings and the result. */
  readonly given: Readonly<Record<string, Json>>;
  /** The address that a manual network asks for; undefined: any. */
  readonly address: string | undefined;
}

/**
 * The networks argument of create_vm. One network per VM: a pod has one interface.
 * A missing type is manual (old CLIs leave it out: bosh-softlayer-cpi-release#130).
 * Throws INVALID_ARGUMENT for a wrong shape, NOT_SUPPORTED for what a pod cannot have.
 */
export function parseNetworks(value: unknown, place: Place): Networks {
  const entries = Object.entries(recordAt(value, place)).map(
    ([name, network]) => [name, recordAt(network, at(place, name))] as const,
  );
  const [first, ...others] = entries;
  if (first === undefined) throw wrong(place, 'names no network');
  if (others.length > 0) {
    throw new ProductError(
      'NOT_SUPPORTED',
      `${place.path}: a VM can have one network here, but ${entries.map(([name]) => name).join(', ')} were asked for`,
    );
  }
  return { given: Object.fromEntries(entries), address: addressOf(first[1], at(place, first[0])) };
}

function addressOf(network: Json, place: Place): string | undefined {
  refuseUnknownKeys(
    recordAt(network['cloud_properties'], at(place, 'cloud_properties')),
    [],
    at(place, 'cloud_properties'),
  );
  const type = network['type'] ?? 'manual';
  switch (type) {
    case 'dynamic':
      return undefined;
    case 'manual': {
      const ip = stringAt(network['ip'], at(place, 'ip'));
      if (isIP(ip) === 0) throw wrong(at(place, 'ip'), 'is not an IP address');
      return ip;
    }
    case 'vip':
      throw new ProductError('NOT_SUPPORTED', `${place.path}: networks of type vip are not supported`);
    default:
      throw wrong(at(place, 'type'), 'has to be manual or dynamic');
  }
}
