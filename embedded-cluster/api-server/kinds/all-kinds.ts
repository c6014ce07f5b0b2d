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
import { policyKinds } from './policy-kinds.ts';
import { serviceKind } from './service/services.ts';
import { volumeSnapshotClassKind } from './snapshots/volume-snapshot-classes.ts';
import { volumeSnapshotContentKind } from './snapshots/volume-snapshot-contents.ts';
import { volumeSnapshotKind } from './snapshots/volume-snapshots.ts';
import { storageClassKind } from './storage-classes.ts';
import { volumeAttributesClassKind } from './volume-attributes-classes.ts';

const kinds: readonly Kind[] = [
  ...policyKinds,
  configMapKind,
  endpointSliceKind,
  eventKind,
  leaseKind,
  namespaceKind,
  networkAttachmentDefinitionKind,
  nodeKind,
  persistentVolumeClaimKind,
  persistentVolumeKind,
  podKind,
  secretKind,
  serviceKind,
  storageClassKind,
  volumeAttributesClassKind,
  volumeSnapshotClassKind,
  volumeSnapshotContentKind,
  volumeSnapshotKind,
];

/** Every kind that this server serves: those that a controller, the node or the CPI uses. */
export const allKinds: ReadonlyMap<string, Kind> = new Map(
  kinds.map((kind) => [groupResource(kind.resource), kind]),
);
