import { ProductError } from '../errors/product-error.ts';

export interface ServiceName {
  readonly namespace: string;
  readonly name: string;
}

/** Returns the Service for a name that the operator mapped; undefined for any other name. */
export type NameMap = (host: string) => ServiceName | undefined;

const labelPattern = '[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?';
const entryPattern = new RegExp(
  `^(?<wild>\\*\\.)?(?<domain>${labelPattern}(\\.${labelPattern})*)=(?<name>${labelPattern})(\\.(?<namespace>${labelPattern}))?$`,
  'u',
);

/**
 * Parses `*.DOMAIN=SERVICE` (every name below DOMAIN) and `NAME=SERVICE`. SERVICE.NAMESPACE names a Service
 * of another namespace than the first. The first matching entry counts. Throws INVALID_ARGUMENT.
 */
export function parseNameMap(entries: readonly string[], namespaces: readonly string[]): NameMap {
  const [first = ''] = namespaces;
  const parsed = entries.map((entry) => {
    const { wild, domain, name, namespace = first } = entryPattern.exec(entry.toLowerCase())?.groups ?? {};
    if (domain === undefined || name === undefined)
      throw new ProductError(
        'INVALID_ARGUMENT',
        `--map '${entry}' cannot be read; write '*.DOMAIN=SERVICE' or 'NAME=SERVICE', with SERVICE.NAMESPACE for another namespace than the first`,
      );
    if (!namespaces.includes(namespace))
      throw new ProductError(
        'INVALID_ARGUMENT',
        `--map '${entry}' names namespace '${namespace}', which the tunnel does not serve; add --namespace ${namespace}`,
      );
    const service = { namespace, name };
    return {
      service,
      fits: (host: string) => (wild === undefined ? host === domain : host.endsWith(`.${domain}`)),
    };
  });
  return (host) => parsed.find(({ fits }) => fits(host))?.service;
}
