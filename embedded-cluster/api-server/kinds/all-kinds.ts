import { groupResource } from '../errors/status-errors.ts';
import { endpointSliceKind } from './endpoint-slices.ts';
import { eventKind } from './events.ts';
import { configMapKind, secretKind } from './key-value-objects.ts';
import type { Kind } from './kind.ts';
import { leaseKind } from './leases.ts';
import { namespaceKind } from './namespaces.ts';
import { networkAttachmentDefinitionKind } from './network-attachment-definitions.ts';
import { nodeKind } from './nodes.ts';
import { persistentVolumeClaimKind } from './persistent-volume-claims.ts';
import { persistentVolumeKind } from './persistent-volumes.ts';
import { podKind } from './pod/pods.ts';
import { serviceKind } from './service/services.ts';
import { volumeSnapshotClassKind, volumeSnapshotKind, volumeSnapshotContentKind } from './snapshots.ts';
import { storageClassKind, volumeAttributesClassKind } from './storage-classes.ts';
import { podDisruptionBudgetKind } from './pod-disruption-budgets.ts';
import { priorityClassKind } from './priority-classes.ts';
import { clusterRoleBindingKind, roleBindingKind, clusterRoleKind, roleKind } from './rbac.ts';
import { selfSubjectAccessReviewKind, selfSubjectRulesReviewKind, selfSubjectReviewKind } from './reviews.ts';
import { resourceQuotaKind } from './resource-quotas.ts';
import { runtimeClassKind } from './runtime-classes.ts';
import { serviceAccountKind } from './service-accounts.ts';

const kinds: readonly Kind[] = [
  clusterRoleBindingKind,
  clusterRoleKind,
  configMapKind,
  endpointSliceKind,
  eventKind,
  leaseKind,
  namespaceKind,
  networkAttachmentDefinitionKind,
  nodeKind,
  persistentVolumeClaimKind,
  persistentVolumeKind,
  podDisruptionBudgetKind,
  podKind,
  priorityClassKind,
  resourceQuotaKind,
  roleBindingKind,
  roleKind,
  runtimeClassKind,
  secretKind,
  selfSubjectAccessReviewKind,
  selfSubjectReviewKind,
  selfSubjectRulesReviewKind,
  serviceAccountKind,
  serviceKind,
  storageClassKind,
  volumeAttributesClassKind,
  volumeSnapshotClassKind,
  volumeSnapshotContentKind,
  volumeSnapshotKind,
];

/** Every kind that this server serves: those that a controller, the node, the CPI or an operator uses. */
export const allKinds: ReadonlyMap<string, Kind> = new Map(
  kinds.map((kind) => [groupResource(kind.resource), kind]),
);
