import type { Place } from '../input.ts';
import { at, isUngiven, optionalStringAt, recordAt, refuseUnknownKeys, stringAt, wrong } from '../input.ts';

/** The API of the director that makes the calls. */
export interface DirectorConfig {
  /** `https://host:port`. */
  readonly url: string;
  /** PEM, one or more, for the director and its UAA; absent: the roots that the runtime trusts. */
  readonly ca: string | undefined;
  /** Of the UAA; where the director has none, a user of its own. */
  readonly client: string;
  /** Secret. */
  readonly clientSecret: string;
}

const keys = ['url', 'ca', 'client', 'client_secret'] as const;

/** The section `director`; undefined where none is configured. Throws INVALID_CONFIG. */
export function parseDirector(value: unknown, place: Place): DirectorConfig | undefined {
  const section = recordAt(value, place);
  refuseUnknownKeys(section, keys, place);
  if (isUngiven(section, keys)) return undefined;
  for (const key of ['url', 'client', 'client_secret'] as const)
    if ((section[key] ?? undefined) === undefined) throw wrong(place, 'needs url, client and client_secret');
  const ca = optionalStringAt(section['ca'], at(place, 'ca'));
  if (ca !== undefined && !ca.includes('-----BEGIN ')) throw wrong(at(place, 'ca'), 'does not hold PEM');
  const client = stringAt(section['client'], at(place, 'client'));
  if (client.includes(':')) throw wrong(at(place, 'client'), 'must not have a colon');
  return {
    url: originAt(section['url'], at(place, 'url')),
    ca,
    client,
    clientSecret: stringAt(section['client_secret'], at(place, 'client_secret')),
  };
}

function originAt(value: unknown, place: Place): string {
  const text = stringAt(value, place);
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol !== 'https:' || url.href !== `${url.origin}/`)
    throw wrong(place, 'has to be https with host and port only, such as https://10.0.0.6:25555');
  return url.origin;
}
