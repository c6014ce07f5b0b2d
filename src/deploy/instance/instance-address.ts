import type { NetworkInterface } from '../../bosh/manifest/read-networks.ts';

/**
 * Returns the instance's address on its only network or on the one with the default gateway. The agent
 * reports the address on a dynamic network (bosh-cli deployment/instance/state/builder.go). Returns undefined
 * while the address is not known.
 */
export function instanceAddress(
  networks: Readonly<Record<string, NetworkInterface>>,
  reported: Readonly<Record<string, string | undefined>>,
): string | undefined {
  const entries = Object.entries(networks);
  const chosen = entries.length === 1 ? entries[0] : entries.find(([, network]) => hasGateway(network));
  if (chosen === undefined) return undefined;
  const [name, { type, ip }] = chosen;
  if (type === 'dynamic') return reported[name];
  return typeof ip === 'string' ? ip : undefined;
}

function hasGateway({ default: defaults }: NetworkInterface): boolean {
  return Array.isArray(defaults) && defaults.includes('gateway');
}
