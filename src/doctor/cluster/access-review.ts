import { ifReadable } from '../../kubernetes/api.ts';
import { selfSubjectAccessReviews, subjectAccessReviews } from '../../kubernetes/resources.ts';
import type { ClusterApi } from './cluster-facts.ts';
import type { Permission } from './required-permissions.ts';

/** A service account. */
export interface Account {
  readonly namespace: string;
  readonly name: string;
}

/** A review of authorization.k8s.io. */
interface Review {
  readonly spec: object;
  readonly status?: { readonly allowed: boolean };
}

/**
 * Returns those of the permissions that the account does not have; without an account, those that the user
 * does not have. Undefined if the user may not create the reviews, or if the cluster does not serve them. A
 * review of an account needs only the right to create SubjectAccessReviews. An impersonation of the account
 * would need a right to do everything that it can do.
 */
export async function readDeniedPermissions(
  api: Pick<ClusterApi, 'review'>,
  permissions: readonly Permission[],
  account?: Account,
): Promise<Permission[] | undefined> {
  const kind = account === undefined ? 'SelfSubjectAccessReview' : 'SubjectAccessReview';
  const resource = account === undefined ? selfSubjectAccessReviews : subjectAccessReviews;
  const results = await Promise.all(
    permissions.map((permission) => {
      const review: Review = {
        ...{ apiVersion: 'authorization.k8s.io/v1', kind, metadata: {} },
        spec: { ...subjectOf(account), resourceAttributes: permission },
      };
      return ifReadable(api.review<Review>(resource, review));
    }),
  );
  if (results.includes(undefined)) return undefined;
  return permissions.filter((_, index) => results[index]?.status?.allowed !== true);
}

/** Returns the user and the groups that the API server gives a service account. */
function subjectOf(account: Account | undefined): object {
  if (account === undefined) return {};
  const { namespace, name } = account;
  const groups = ['serviceaccounts', `serviceaccounts:${namespace}`, 'authenticated'];
  return {
    user: `system:serviceaccount:${namespace}:${name}`,
    groups: groups.map((group) => `system:${group}`),
  };
}
