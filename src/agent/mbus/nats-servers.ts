import { isIP } from 'node:net';
import { ProductError } from '../../errors/product-error.ts';
import { parseSecretUrl } from '../../bosh/parse-secret-url.ts';

/** One NATS server of the message bus. */
export interface NatsServer {
  /** A name, or an address without brackets. */
  readonly host: string;
  readonly port: number;
}

const defaultPort = 4222;

/** Returns true if the bus of a URL is NATS; false for any other text. Never throws. */
export function isNatsUrl(url: string): boolean {
  const protocol = parseSecretUrl(url)?.url.protocol;
  return protocol === 'nats:' || protocol === 'tls:';
}

/**
 * Parses the URLs of the bus, of which each must be a NATS URL. User and password are ignored, because the
 * agent's identity is its certificate (bosh-release: jobs/nats/templates/nats.cfg.erb, verify_and_map).
 * Throws AGENT_SETTINGS_INVALID, without a URL in the message, because a URL may contain a password.
 */
export function parseNatsServers(urls: readonly string[]): readonly NatsServer[] {
  return urls.map((text) => {
    const url = isNatsUrl(text) ? parseSecretUrl(text)?.url : undefined;
    const host = url?.hostname.replace(/^\[|\]$/gu, '') ?? '';
    if (url === undefined || host === '') {
      throw new ProductError(
        'AGENT_SETTINGS_INVALID',
        'the settings name several message buses, and not all of them are NATS URLs of the form nats://HOST:PORT: correct agent.mbus of the CPI or env.bosh.mbus.urls',
      );
    }
    return { host, port: url.port === '' ? defaultPort : Number(url.port) };
  });
}

/** Returns a server as `HOST:PORT`. */
export const describeServer = ({ host, port }: NatsServer): string =>
  `${isIP(host) === 6 ? `[${host}]` : host}:${port}`;
