import type { Networks } from './networks.ts';

/** More are refused in a pod, and no resolver asks more (kubernetes: pkg/apis/core/validation, MaxDNSNameservers; resolv.conf(5)). */
const maxNameServers = 3;

/**
 * Addresses of the name servers that the VM asks: those of the network that is the default for dns, or the only one
 * (bosh-agent: settings/settings.go, Networks.DefaultNetworkFor). Empty: the pod's own, which know the cluster's names.
 */
export function nameServers({ podNetworks, multusNetworks }: Networks): readonly string[] {
  const networks = [...podNetworks, ...multusNetworks];
  const chosen = networks.length === 1 ? networks[0] : networks.find(({ isDnsDefault }) => isDnsDefault);
  return (chosen?.dns ?? []).slice(0, maxNameServers);
}
