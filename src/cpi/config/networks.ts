import type { AddressStrategy } from '../address/address-strategy.ts';
import { addressStrategies } from '../address/address-strategy.ts';
import type { Location } from '../input.ts';
import { child, booleanAt, recordAt, rejectUnknownKeys, invalidValue } from '../input.ts';

export interface NetworksConfig {
  /** Undefined: the strategy follows from the API groups of the cluster. */
  readonly addressStrategy: AddressStrategy | undefined;
  /** The cluster's network is known to enforce NetworkPolicies. */
  readonly networkPolicy: boolean;
}

/** Parses the section `networks`. Throws INVALID_CONFIG. */
export function parseNetworksConfig(value: unknown, place: Location): NetworksConfig {
  const section = recordAt(value, place);
  rejectUnknownKeys(section, ['address_strategy', 'network_policy'], place);
  return {
    addressStrategy: strategyAt(section['address_strategy'], child(place, 'address_strategy')),
    networkPolicy: booleanAt(section['network_policy'], child(place, 'network_policy')) ?? false,
  };
}

function strategyAt(value: unknown, place: Location): AddressStrategy | undefined {
  if (value === undefined || value === null || value === 'auto') return undefined;
  const strategy = addressStrategies.find((known) => known === value);
  if (strategy === undefined)
    throw invalidValue(place, `has to be one of auto, ${addressStrategies.join(', ')}`);
  return strategy;
}
