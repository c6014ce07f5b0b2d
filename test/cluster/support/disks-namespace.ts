import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { parseAllDocuments } from 'yaml';
import { isApiError } from '../../../src/kubernetes/client/api-error.ts';
import type { RestApi } from '../../../src/kubernetes/client/rest-api.ts';
import type { KubernetesApi, ObjectReference, Resource } from '../../../src/kubernetes/api.ts';
import type { KubernetesObject } from '../../../src/kubernetes/object.ts';
import type { Pod } from '../../../src/kubernetes/types/pod.ts';
import { configMaps, namespaces, pods, serviceAccounts } from '../../../src/kubernetes/resources.ts';
import { until } from '../../support/until.ts';
import type { ClusterWorld } from './cluster-world.ts';

const policies: Resource = {
  group: 'admissionregistration.k8s.io',
  version: 'v1',
  plural: 'validatingadmissionpolicies',
  namespaced: false,
};
const bindings: Resource = { ...policies, plural: 'validatingadmissionpolicybindings' };
const kinds: Readonly<Record<string, Resource>> = {
  Namespace: namespaces,
  ConfigMap: configMaps,
  ValidatingAdmissionPolicy: policies,
  ValidatingAdmissionPolicyBinding: bindings,
};
const selfReviews: Resource = {
  group: 'authentication.k8s.io',
  version: 'v1',
  plural: 'selfsubjectreviews',
  namespaced: false,
};
const directory = new URL('../../../manifests/admission/', import.meta.url);

interface ManifestObject extends KubernetesObject {
  readonly kind: string;
}

/** Returns the ConfigMap with the parameters of that namespace's policies. */
export const parametersOf = (disks: string): ObjectReference => ({
  resource: configMaps,
  namespace: `${disks}-admission`,
  name: `of-${disks}`,
});

/**
 * Creates a namespace for disks, `disk_namespace`, in which the policies of manifests/admission apply while
 * `action` runs. They list this suite's account as the CPI's.
 */
export async function withDisksNamespace(
  { api, namespace, cluster }: ClusterWorld,
  action: (disks: string) => Promise<void>,
): Promise<void> {
  // The name of a deleted namespace stays in use for a while.
  const disks = `${namespace}-disks-${randomUUID().slice(0, 8)}`;
  await keepParametersRead(api);
  const objects = await manifestObjects(api, disks, cluster.kubeletRootDirectory);
  await api.create(namespaces, { metadata: { name: disks } });
  try {
    for (const object of objects) await api.create(resourceOf(object), object);
    await untilPolicyHolds(api, disks);
    await action(disks);
  } finally {
    for (const object of objects.toReversed()) await removed(api, object);
    await api.delete({ resource: namespaces, name: disks });
  }
}

/**
 * If no binding has a ConfigMap as its parameter any more, the API server reads none until it is restarted
 * (kubernetes/kubernetes#130887). So this binding stays. Its policy matches nothing.
 */
export async function keepParametersRead(api: KubernetesApi): Promise<void> {
  const metadata = { name: 'bosh-kubernetes-suite-keeps-parameters' };
  const nothing = {
    apiGroups: ['suite.invalid'],
    apiVersions: ['v1'],
    operations: ['CREATE'],
    resources: ['nothings'],
  };
  await createUnlessThere(api, policies, {
    metadata,
    spec: {
      paramKind: { apiVersion: 'v1', kind: 'ConfigMap' },
      matchConstraints: { resourceRules: [nothing] },
      validations: [{ expression: 'false' }],
    },
  });
  await createUnlessThere(api, bindings, {
    metadata,
    spec: {
      policyName: metadata.name,
      validationActions: ['Deny'],
      paramRef: { ...metadata, namespace: 'default', parameterNotFoundAction: 'Allow' },
    },
  });
}

async function createUnlessThere(
  api: KubernetesApi,
  resource: Resource,
  object: KubernetesObject & { readonly spec: object },
): Promise<void> {
  try {
    await api.create(resource, object);
  } catch (error) {
    if (!isApiError(error, 409)) throw error;
  }
}

/** Returns why the API server rejects the pod, or undefined if it would create it. */
export async function refusalOf(api: KubernetesApi, pod: Pod): Promise<string | undefined> {
  try {
    await api.dryRunCreate(pods, pod);
    return undefined;
  } catch (error) {
    if (isApiError(error, 422) || isApiError(error, 403)) return error.message;
    throw error;
  }
}

/** Matches the API server's message if a policy of that namespace rejected the request. */
export const deniedBy = (disks: string, policy: 'only' | 'unchanged' | 'connect'): RegExp =>
  new RegExp(`'of-${disks}-${policy}' with binding 'of-${disks}-${policy}' denied request`, 'u');

/**
 * Returns the manifests of this repository for that namespace. The policy on pod creation comes last: once
 * the API server enforces it, it enforces the others too.
 */
async function manifestObjects(api: RestApi, disks: string, kubelet: string): Promise<ManifestObject[]> {
  const review: { status?: { userInfo: { username: string } } } = await api.review(selfReviews, {});
  const account = review.status?.userInfo.username;
  assert.ok(account !== undefined);
  const parameters = await readFile(new URL('parameters.yaml', directory), 'utf8');
  const policy = await readFile(new URL('attachments-only.yaml', directory), 'utf8');
  const text = [
    parameters.replace('system:serviceaccount:bosh:bosh-cpi', account),
    policy.replaceAll('/var/lib/kubelet', kubelet),
  ].map((file) =>
    file
      .replaceAll('bosh-attachments', `of-${disks}`)
      .replaceAll('bosh-admission', `${disks}-admission`)
      .replaceAll('bosh-disks', disks),
  );
  const objects = parseAllDocuments(text.join('---\n')).map((document) => document.toJS() as ManifestObject);
  const isLast = ({ metadata }: ManifestObject): boolean => metadata.name === `of-${disks}-only`;
  return [...objects.filter((object) => !isLast(object)), ...objects.filter(isLast)];
}

function resourceOf({ kind }: ManifestObject): Resource {
  const resource = kinds[kind];
  assert.ok(resource !== undefined, `no resource for ${kind}`);
  return resource;
}

async function removed(api: KubernetesApi, object: ManifestObject): Promise<void> {
  const { name, namespace } = object.metadata;
  try {
    await api.delete({ resource: resourceOf(object), namespace, name });
  } catch (error) {
    if (!isApiError(error, 404)) throw error;
  }
}

/**
 * Waits until the API server enforces a new policy, which takes a moment. Before the pod's account exists,
 * the pod is rejected for another reason.
 */
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
    assert.match(refusal, deniedBy(namespace, 'only'));
    // Before that the message is: no params found.
    return refusal.includes('only attachments, and pods that bind a copy');
  });
}
