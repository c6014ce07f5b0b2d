import { customResourceDefinitionKind } from '../custom/custom-resource-definitions.ts';
import { groupResource } from '../errors/status-errors.ts';
import { endpointSliceKind } from './endpoint-slices.ts';
import { eventKind } from './events.ts';
import { configMapKind, secretKind } from './key-value-objects.ts';
import type { Kind } from './kind.ts';
import { leaseKind } from './leases.ts';
import { namespaceKind } from './namespaces.ts';
import { nodeKind } from './nodes.ts';
import { persistentVolumeClaimKind } from './persistent-volume-claims.ts';
import { persistentVolumeKind } from './persistent-volumes.ts';
import { podKind } from './pod/pods.ts';
import { policyKinds } from './policy-kinds.ts';
import { serviceKind } from './service/services.ts';
import { storageClassKind } from './storage-classes.ts';
import { volumeAttributesClassKind } from './volume-attributes-classes.ts';

const native: readonly Kind[] = [
  ...policyKinds,
  configMapKind,
  endpointSliceKind,
  eventKind,
  leaseKind,
  namespaceKind,
  nodeKind,
  persistentVolumeClaimKind,
  persistentVolumeKind,
  podKind,
  secretKind,
  serviceKind,
  storageClassKind,
  volumeAttributesClassKind,
];

const reserved = [...native.map(({ resource }) => resource.group), 'apiextensions.k8s.io'];

/**
 * Every kind that this server serves from the start: those that a controller or the node acts on, and definitions,
 * which add others (follow-definitions.ts).
 */
export const allKinds: ReadonlyMap<string, Kind> = new Map(
  [...native, customResourceDefinitionKind([...new Set(reserved)])].map((kind) => [
    groupResource(kind.resource),
    kind,
  ]),
);
