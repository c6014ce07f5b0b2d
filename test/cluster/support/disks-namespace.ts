import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { parseAllDocuments } from 'yaml';
import { isApiError } from '../../../src/kubernetes/api-error.ts';
import type { KubernetesApi, Resource } from '../../../src/kubernetes/api.ts';
import type { KubernetesObject } from '../../../src/kubernetes/object.ts';
import type { Pod } from '../../../src/kubernetes/pod.ts';
import { namespaces, pods, serviceAccounts } from '../../../src/kubernetes/resources.ts';
import { until } from '../../support/until.ts';
import type { ClusterWorld } from './cluster-world.ts';

const policies: Resource = {
  group: 'admissionregistration.k8s.io',
  version: 'v1',
  plural: 'validatingadmissionpolicies',
  namespaced: false,
};
const bindings: Resource = { ...policies, plural: 'validatingadmissionpolicybindings' };
const manifest = new URL('../../../manifests/admission/attachments-only.yaml', import.meta.url);

/** A namespace for disks, `disk_namespace`, where the policy of manifests/admission holds while `action` works. */
export async function withDisksNamespace(
  { api, namespace, cluster }: ClusterWorld,
  action: (disks: string) => Promise<void>,
): Promise<void> {
  const disks = `${namespace}-disks`;
  await api.create(namespaces, { metadata: { name: disks } });
  try {
    await applyPolicy(api, disks, cluster.kubeletRootDirectory);
    await untilPolicyHolds(api, disks);
    await action(disks);
  } finally {
    await removePolicy(api, disks);
    await api.delete({ resource: namespaces, name: disks });
  }
}

/** Why the API server refuses the pod; undefined where it would make it. */
export async function refusalOf(api: KubernetesApi, pod: Pod): Promise<string | undefined> {
  try {
    await api.create(pods, pod, { dryRun: true });
    return undefined;
  } catch (error) {
    if (isApiError(error, 422) || isApiError(error, 403)) return error.message;
    throw error;
  }
}

/** The words of the API server where that namespace's policy refused. */
export const deniedBy = (disks: string): RegExp =>
  new RegExp(`ValidatingAdmissionPolicy 'only-${disks}' with binding 'only-${disks}' denied request`, 'u');

/** The manifest of this repository, for that namespace. */
async function applyPolicy(api: KubernetesApi, disks: string, kubelet: string): Promise<void> {
  const text = (await readFile(manifest, 'utf8'))
    .replaceAll('bosh-attachments-only', `only-${disks}`)
    .replaceAll('bosh-disks', disks)
    .replaceAll('/var/lib/kubelet', kubelet);
  const [policy, binding] = parseAllDocuments(text).map((document) => document.toJS() as KubernetesObject);
  assert.ok(policy !== undefined && binding !== undefined);
  await api.create(policies, policy);
  await api.create(bindings, binding);
}

async function removePolicy(api: KubernetesApi, disks: string): Promise<void> {
  for (const resource of [bindings, policies]) {
    try {
      await api.delete({ resource, name: `only-${disks}` });
    } catch (error) {
      if (!isApiError(error, 404)) throw error;
    }
  }
}

/** The API server takes a moment to enforce a new policy; a pod is refused otherwise until its account is there. */
async function untilPolicyHolds(api: KubernetesApi, namespace: string): Promise<void> {
  await until('the default service account', async () =>
    (await api.list(serviceAccounts, { namespace })).items.some(
      ({ metadata }) => metadata.name === 'default',
    ),
  );
  const stranger: Pod = {
    metadata: { name: 'stranger', namespace },
    spec: { containers: [{ name: 'c', image: 'i', securityContext: { privileged: true } }] },
  };
  await until('the policy to be enforced', async () => {
    const refusal = await refusalOf(api, stranger);
    if (refusal === undefined) return false;
    assert.match(refusal, deniedBy(namespace));
    assert.match(refusal, /only attachments of the BOSH CPI/u);
    return true;
  });
}
