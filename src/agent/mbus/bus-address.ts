import { ProductError } from '../../errors/product-error.ts';
import { parseSecretUrl, type SecretUrl } from '../../bosh/parse-secret-url.ts';
import type { Settings } from '../settings/settings.ts';

export interface BusAddress {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly password: string;
}

/**
 * Returns the address of the bus and its credentials. The host is the VM's own address, the IP of the first
 * manual network, even if the URL has 0.0.0.0, because pods of the embedded node share the host's network.
 * Without a manual network the host is `machine` if that is a loopback address of this VM only, otherwise the
 * URL's host. Throws AGENT_SETTINGS_INVALID unless the URL is https with user and password.
 */
export function resolveBusAddress(settings: Settings, machine: string): BusAddress {
  const { url, user, password } = parseBus(settings.mbusUrls[0]);
  if (user === '' || password === '') throw invalid('the mbus URL has no user and password');
  return {
    host: manualAddress(settings) ?? ownLoopbackAddress(url, machine) ?? url.hostname.replace(/^\[|\]$/g, ''),
    port: url.port === '' ? 443 : Number(url.port),
    user,
    password,
  };
}

function manualAddress(settings: Settings): string | undefined {
  for (const network of settings.networks.values()) {
    if (network.type === 'manual' && network.ip !== undefined) return network.ip;
  }
  return undefined;
}

/**
 * Returns `machine` if the URL has 0.0.0.0 and `machine` is a loopback address of one VM. 127.0.0.1 and
 * Debian's 127.0.1.1 do not identify a VM.
 */
function ownLoopbackAddress(url: URL, machine: string): string | undefined {
  const isOfOneVm = machine.startsWith('127.') && machine !== '127.0.0.1' && machine !== '127.0.1.1';
  return url.hostname === '0.0.0.0' && isOfOneVm ? machine : undefined;
}

// An error must not quote the URL, because it contains the password.
function parseBus(text: string): SecretUrl {
  const parsed = parseSecretUrl(text);
  if (parsed === undefined) throw invalid('the mbus URL cannot be read');
  if (parsed.url.protocol === 'https:') return parsed;
  throw invalid(`the mbus URL must use https, not '${parsed.url.protocol}'`);
}

function invalid(cause: string): ProductError {
  return new ProductError('AGENT_SETTINGS_INVALID', `the settings' bus: ${cause}`);
}
