import type { KubernetesObject } from '../../kubernetes/object.ts';
import type { CallContext } from '../cloud.ts';
import { baseLabels } from '../labels.ts';
import { sha256 } from '../sha256.ts';
import { attachmentPrefix, membershipLabel, policyPrefix } from './network-names.ts';
import type { NetworkRequest } from './network-request.ts';

export interface NetworkObject extends KubernetesObject {
  readonly spec: Record<string, unknown>;
}

/** How many seconds create_network and delete_network wait until a terminating network is deleted. */
export const deletionSeconds = 300;

/**
 * Returns the object of a network. Its name is derived from the request, so that a call that is repeated
 * after a crash finds the object of the interrupted call: create_network has no other key.
 */
export function networkObject(cloud: CallContext, request: NetworkRequest): NetworkObject {
  const prefix = request.kind === 'policy' ? policyPrefix : attachmentPrefix;
  const name = `${prefix}${digestOf([cloud.directorUuid, request])}`;
  return {
    metadata: {
      name,
      namespace: cloud.namespace,
      labels: baseLabels('network', cloud.directorUuid),
      annotations: { 'bosh.cloudfoundry.org/range': request.range.text },
    },
    spec:
      request.kind === 'policy'
        ? policySpec(name, request.allowFrom)
        : attachmentSpec(name, request.pluginConfig),
  };
}

/**
 * Returns the spec of a policy: VMs of the network accept traffic from each other and from the allowed ranges
 * only; their own outgoing traffic is not limited.
 */
function policySpec(name: string, allowFrom: readonly string[]): Record<string, unknown> {
  const podSelector = { matchLabels: { [membershipLabel(name)]: '' } };
  const from = [{ podSelector }, ...allowFrom.map((cidr) => ({ ipBlock: { cidr } }))];
  return { podSelector, policyTypes: ['Ingress'], ingress: [{ from }] };
}

/**
 * Returns the spec of a definition. The addresses come from the VMs' networks: the plugin `static` gets them
 * by the capability `ips`.
 */
function attachmentSpec(name: string, pluginConfig: Record<string, unknown>): Record<string, unknown> {
  const isList = pluginConfig['plugins'] !== undefined;
  const config = {
    cniVersion: '1.0.0',
    name,
    ...(!isList && { capabilities: { ips: true }, ipam: { type: 'static' } }),
    ...pluginConfig,
  };
  return { config: JSON.stringify(config) };
}

function digestOf(value: unknown): string {
  const sorted = JSON.stringify(value, (_, item: unknown) =>
    typeof item === 'object' && item !== null && !Array.isArray(item)
      ? Object.fromEntries(Object.entries(item).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : item,
  );
  return sha256(sorted).slice(0, 20);
}
