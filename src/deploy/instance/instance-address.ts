import type { NetworkInterface } from '../../bosh/manifest/network-interfaces.ts';

/**
 * The address of an instance: of its only network or of the one that has the default gateway; a dynamic network's is what the
 * agent reports (bosh-cli deployment/instance/state/builder.go). Undefined as long as nobody knows it.
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
