import type { Json, Location } from '../input.ts';
import { child, optionalStringAt, recordAt, rejectUnknownKeys, stringsAt } from '../input.ts';

/** The settings of the agents; the env of a VM wins. */
export interface AgentConfig {
  /** Secret: contains a password. */
  readonly mbus: string | undefined;
  readonly ntp: readonly string[];
  /** Secret: may contain credentials. */
  readonly blobstore: Json | undefined;
}

/** Parses the section `agent`. Throws INVALID_CONFIG. */
export function parseAgent(value: unknown, place: Location): AgentConfig {
  const section = recordAt(value, place);
  rejectUnknownKeys(section, ['mbus', 'ntp', 'blobstore'], place);
  const blobstore = section['blobstore'] ?? undefined;
  return {
    mbus: optionalStringAt(section['mbus'], child(place, 'mbus')),
    ntp: stringsAt(section['ntp'], child(place, 'ntp')),
    blobstore: blobstore === undefined ? undefined : recordAt(blobstore, child(place, 'blobstore')),
  };
}
