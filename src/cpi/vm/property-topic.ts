import type { Json, Location } from '../input.ts';
import { type CpiConfig } from '../config/config.ts';

/**
 * One topic of a VM's cloud_properties: the top-level keys that it owns, and how they are parsed. BOSH merges
 * cloud_properties of AZ, VM type and extensions shallowly, so a key is the unit of override.
 */
export interface Topic<T> {
  readonly keys: readonly string[];
  /** Parses the topic; `place` is the location of the cloud_properties. Throws INVALID_ARGUMENT. */
  readonly parse: (properties: Json, place: Location, config: CpiConfig) => T;
}
