import type { Json, Place } from '../input.ts';
import { at, optionalStringAt, recordAt, refuseUnknownKeys, stringsAt } from '../input.ts';

/** What the agents are told; the env of a VM wins. */
export interface AgentConfig {
  /** Secret: carries a password. */
  readonly mbus: string | undefined;
  readonly ntp: readonly string[];
  /** Secret: may carry credentials. */
  readonly blobstore: Json | undefined;
}

/** The section `agent`. Throws INVALID_CONFIG. */
export function parseAgent(value: unknown, place: Place): AgentConfig {
  const section = recordAt(value, place);
  refuseUnknownKeys(section, ['mbus', 'ntp', 'blobstore'], place);
  const blobstore = section['blobstore'] ?? undefined;
  return {
    mbus: optionalStringAt(section['mbus'], at(place, 'mbus')),
    ntp: stringsAt(section['ntp'], at(place, 'ntp')),
    blobstore: blobstore === undefined ? undefined : recordAt(blobstore, at(place, 'blobstore')),
  };
}
