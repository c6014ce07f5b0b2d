import type { AddressStrategy } from '../address/address-strategy.ts';
import { addressStrategies } from '../address/address-strategy.ts';
import type { Place } from '../input.ts';
import { at, booleanAt, recordAt, refuseUnknownKeys, wrong } from '../input.ts';

export interface NetworksConfig {
  /** Absent: what the API groups of the cluster speak for. */
  readonly addressStrategy: AddressStrategy | undefined;
  /** The cluster's network is known to enforce NetworkPolicies. */
  readonly networkPolicy: boolean;
}

/** The section `networks`. Throws INVALID_CONFIG. */
export function parseNetworksConfig(value: unknown, place: Place): NetworksConfig {
  const section = recordAt(value, place);
  refuseUnknownKeys(section, ['address_strategy', 'network_policy'], place);
  return {
    addressStrategy: strategyAt(section['address_strategy'], at(place, 'address_strategy')),
    networkPolicy: booleanAt(section['network_policy'], at(place, 'network_policy')) ?? false,
  };
}

function strategyAt(value: unknown, place: Place): AddressStrategy | undefined {
  if (value === undefined || value === null || value === 'auto') return undefined;
  const strategy = addressStrategies.find((known) => known === value);
  if (strategy === undefined) throw wrong(place, `has to be one of auto, ${addressStrategies.join(', ')}`);
  return strategy;
}
