import { randomBytes } from 'node:crypto';
import { isApiError } from '../../src/kubernetes/client/api-error.ts';
import type { Resource } from '../../src/kubernetes/api.ts';
import type { RestApi } from '../../src/kubernetes/client/rest-api.ts';
import { clusterRoleBindings, clusterRoles, roleBindings, roles } from '../../src/kubernetes/resources.ts';
import { until } from './until.ts';

const group = 'rbac.authorization.k8s.io';
const reviews: Resource = {
  ...{ group: 'authorization.k8s.io', version: 'v1', plural: 'subjectaccessreviews' },
  ...{ kind: 'SubjectAccessReview', namespaced: false },
};

/**
 * Waits until an API server applies every role and binding that was written before: its authorizer reads
 * caches that follow the store, one per kind (kubernetes: pkg/kubeapiserver/authorizer, apiserver's
 * informers), so the object written last is seen last. The embedded API reads its store and has no
 * SubjectAccessReview, so there is nothing to wait for.
 */
export async function rightsInForce(api: RestApi, namespace: string): Promise<void> {
  const name = `last-${randomBytes(6).toString('hex')}`;
  const rules = [{ apiGroups: [''], resources: ['configmaps'], resourceNames: [name], verbs: ['get'] }];
  const user = (scope: string): string => `${name}-${scope}`;
  const bound = (kind: string, scope: string): object => ({
    roleRef: { apiGroup: group, kind, name },
    subjects: [{ apiGroup: group, kind: 'User', name: user(scope) }],
  });
  const metadata = { name };
  await api.create(roles, { metadata: { name, namespace }, rules });
  await api.create(clusterRoles, { metadata, rules });
  const inNamespace = { metadata: { name, namespace }, ...bound('Role', 'namespace') };
  await api.create(roleBindings, inNamespace);
  await api.create(clusterRoleBindings, { metadata, ...bound('ClusterRole', 'cluster') });
  const resourceAttributes = { namespace, verb: 'get', resource: 'configmaps', name };
  for (const scope of ['namespace', 'cluster'])
    await until(`the authorizer to know ${name} of the ${scope}`, async () => {
      const review = { metadata: {}, spec: { user: user(scope), resourceAttributes } };
      const answer = await ifServed(api.review<Review>(reviews, review));
      return answer === undefined || answer.status?.allowed === true;
    });
  await api.delete({ resource: clusterRoleBindings, name });
  await api.delete({ resource: clusterRoles, name });
  await api.delete({ resource: roleBindings, namespace, name });
  await api.delete({ resource: roles, namespace, name });
}

async function ifServed<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer;
  } catch (error) {
    if (isApiError(error, 404)) return undefined;
    throw error;
  }
}

interface Review {
  readonly spec?: object;
  readonly status?: { readonly allowed?: boolean };
}
