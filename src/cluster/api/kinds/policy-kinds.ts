import type { Kind } from './kind.ts';
import { clusterRoleBindingKind, roleBindingKind } from './rbac/role-bindings.ts';
import { clusterRoleKind, roleKind } from './rbac/roles.ts';
import {
  localSubjectAccessReviewKind,
  selfSubjectAccessReviewKind,
  selfSubjectRulesReviewKind,
  subjectAccessReviewKind,
} from './reviews/access-reviews.ts';
import { selfSubjectReviewKind, tokenReviewKind } from './reviews/identity-reviews.ts';
import { serviceAccountKind } from './service-accounts.ts';

/** The kinds that say who may do what. */
export const policyKinds: readonly Kind[] = [
  clusterRoleBindingKind,
  clusterRoleKind,
  localSubjectAccessReviewKind,
  roleBindingKind,
  roleKind,
  selfSubjectAccessReviewKind,
  selfSubjectReviewKind,
  selfSubjectRulesReviewKind,
  serviceAccountKind,
  subjectAccessReviewKind,
  tokenReviewKind,
];
