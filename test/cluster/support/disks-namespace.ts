import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { parseAllDocuments } from 'yaml';
import { isApiError } from '../../../src/kubernetes/api-error.ts';
import type { KubernetesApi, ObjectReference, Resource } from '../../../src/kubernetes/api.ts';
import type { KubernetesObject } from '../../../src/kubernetes/object.ts';
import type { Pod } from '../../../src/kubernetes/pod.ts';
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
const folder = new URL('../../../manifests/admission/', import.meta.url);

interface ManifestObject extends KubernetesObject {
  readonly kind: string;
}

/** The ConfigMap that the policies of that namespace are given. */
export const parametersOf = (disks: string): ObjectReference => ({
  resource: configMaps,
  namespace: `${disks}-admission`,
  name: `of-${disks}`,
});

/**
 * A namespace for disks, `disk_namespace`, where the policies of manifests/admission hold while `action` works. They list the
 * account of this suite as the CPI's.
 */
export async function withDisksNamespace(
  { api, namespace, cluster }: ClusterWorld,
  action: (disks: string) => Promise<void>,
): Promise<void> {
  // a namespace that was deleted keeps its name for a while
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
 * Once no binding has a ConfigMap as its parameter, an API server reads none until it is restarted (kubernetes/kubernetes#130887).
 * So this one stays; its policy is asked about nothing.
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

/** The words of the API server where one of that namespace's policies refused. */
export const deniedBy = (disks: string, policy: 'only' | 'unchanged' | 'connect'): RegExp =>
  new RegExp(`'of-${disks}-${policy}' with binding 'of-${disks}-${policy}' denied request`, 'u');

/**
 * The manifests of this repository, for that namespace. The policy on the creation of pods comes last: once the API server enforces
 * it, it enforces the others.
 */
async function manifestObjects(
  api: KubernetesApi,
  disks: string,
  kubelet: string,
): Promise<ManifestObject[]> {
  const review: KubernetesObject & { status?: { userInfo: { username: string } } } = await api.create(
    selfReviews,
    { metadata: {} },
  );
  const account = review.status?.userInfo.username;
  assert.ok(account !== undefined);
  const parameters = await readFile(new URL('parameters.yaml', folder), 'utf8');
  const policy = await readFile(new URL('attachments-only.yaml', folder), 'utf8');
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
  const { name = '', namespace } = object.metadata;
  try {
    await api.delete({ resource: resourceOf(object), namespace, name });
  } catch (error) {
    if (!isApiError(error, 404)) throw error;
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
    assert.match(refusal, deniedBy(namespace, 'only'));
    // before that: no params found
    return refusal.includes('only attachments, and pods that bind a copy');
  });
}
