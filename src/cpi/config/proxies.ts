import type { Location } from '../input.ts';
import { child, optionalStringAt, recordAt, rejectUnknownKeys } from '../input.ts';

/** The variables that a director removes from the environment of a CPI. The names are those of other CPIs. */
const variableNames = ['http_proxy', 'https_proxy', 'no_proxy'] as const;

/** Proxy variables as a process has them, in both spellings. Secret: a URL may contain a password. */
export type ProxyVariables = Readonly<Record<string, string>>;

/**
 * Parses the section `env`: https_proxy and no_proxy apply to the API server, all three are in the
 * environment of exec plugins. They override those of this process. Throws INVALID_CONFIG.
 */
export function parseProxyVariables(value: unknown, place: Location): ProxyVariables {
  const section = recordAt(value, place);
  rejectUnknownKeys(section, variableNames, place);
  const given: Record<string, string> = {};
  for (const name of variableNames) {
    const text = optionalStringAt(section[name], child(place, name));
    if (text !== undefined) Object.assign(given, { [name]: text, [name.toUpperCase()]: text });
  }
  return given;
}
