import { describeKind, object } from '../../cluster/api/custom/definitions/describe.ts';
import { networkAttachmentDefinition } from '../../cluster/api/custom/definitions/network-attachments.ts';
import type { KubernetesApi } from '../../kubernetes/api.ts';
import { customResourceDefinitions, networkPolicies } from '../../kubernetes/resources.ts';

const anything = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } as const;

/**
 * Kinds that the embedded cluster does not have, since nobody there would act on them: here their objects are kept, as
 * in a cluster that has them.
 */
export const foreignKinds = {
  'network policies': describeKind({
    ...{ group: networkPolicies.group, plural: networkPolicies.plural, kind: 'NetworkPolicy' },
    ...{ shortNames: ['netpol'], scope: 'Namespaced' },
    annotations: { 'api-approved.kubernetes.io': 'https://github.com/kubernetes/kubernetes/pull/39164' },
    version: { schema: { openAPIV3Schema: object({ spec: anything }) } },
  }),
  multus: networkAttachmentDefinition,
  calico: marker('crd.projectcalico.org', 'ippools', 'IPPool'),
  'kube-ovn': marker('kubeovn.io', 'subnets', 'Subnet'),
} as const;

/** Installs what the named programs install. */
export async function install(api: KubernetesApi, ...names: (keyof typeof foreignKinds)[]): Promise<void> {
  for (const name of names) await api.create(customResourceDefinitions, foreignKinds[name]);
}

/** A kind by whose group a network is known. */
function marker(group: string, plural: string, kind: string): ReturnType<typeof describeKind> {
  const version = { schema: { openAPIV3Schema: object({ spec: anything }) } };
  return describeKind({ group, plural, kind, shortNames: [], scope: 'Cluster', version });
}
