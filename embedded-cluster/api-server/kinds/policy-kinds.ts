import type { Kind } from './kind.ts';
import { podDisruptionBudgetKind } from './pod-disruption-budgets.ts';
import { priorityClassKind } from './priority-classes.ts';
import { clusterRoleBindingKind, roleBindingKind } from './rbac/role-bindings.ts';
import { clusterRoleKind, roleKind } from './rbac/roles.ts';
import { selfSubjectAccessReviewKind, selfSubjectRulesReviewKind } from './reviews/access-reviews.ts';
import { selfSubjectReviewKind } from './reviews/identity-reviews.ts';
import { resourceQuotaKind } from './resource-quotas.ts';
import { runtimeClassKind } from './runtime-classes.ts';
import { serviceAccountKind } from './service-accounts.ts';

/** The kinds for access control, and for limits, priorities and runtimes of pods. */
export const policyKinds: readonly Kind[] = [
  clusterRoleBindingKind,
  clusterRoleKind,
  podDisruptionBudgetKind,
  priorityClassKind,
  resourceQuotaKind,
  roleBindingKind,
  roleKind,
  runtimeClassKind,
  selfSubjectAccessReviewKind,
  selfSubjectReviewKind,
  selfSubjectRulesReviewKind,
  serviceAccountKind,
];
