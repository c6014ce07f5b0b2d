import type { Networks } from './networks.ts';

/**
 * Kubernetes rejects a pod with more, and resolvers use no more (kubernetes: pkg/apis/core/validation,
 * MaxDNSNameservers; resolv.conf(5)).
 */
const maxNameServers = 3;

/**
 * Returns the addresses of the VM's name servers: those of the network that is the default for dns, or of the
 * only network (bosh-agent: settings/settings.go, Networks.DefaultNetworkFor). Empty: the name servers of the
 * pod, which resolve the names of the cluster.
 */
export function nameServers({ podNetworks, multusNetworks }: Networks): readonly string[] {
  const networks = [...podNetworks, ...multusNetworks];
  const chosen = networks.length === 1 ? networks[0] : networks.find(({ isDnsDefault }) => isDnsDefault);
  return (chosen?.dns ?? []).slice(0, maxNameServers);
}
