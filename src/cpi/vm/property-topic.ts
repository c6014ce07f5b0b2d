import type { Field } from '../../platform/field.ts';
import { type CpiConfig } from '../config/config.ts';

/**
 * One topic of a VM's cloud_properties: the top-level keys that it owns, and how they are parsed. BOSH merges
 * cloud_properties of AZ, VM type and extensions shallowly, so a key is the unit of override.
 */
export interface Topic<T> {
  readonly keys: readonly string[];
  /** Parses the topic in the cloud_properties. Throws the error of the field. */
  readonly parse: (properties: Field, config: CpiConfig) => T;
}
