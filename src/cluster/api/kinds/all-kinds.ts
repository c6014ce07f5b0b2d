import { groupResource } from '../errors/status-errors.ts';
import { eventKind } from './events.ts';
import { configMapKind, secretKind } from './key-value-objects.ts';
import type { Kind } from './kind.ts';
import { namespaceKind } from './namespaces.ts';
import { nodeKind } from './nodes.ts';
import { persistentVolumeClaimKind } from './persistent-volume-claims.ts';
import { persistentVolumeKind } from './persistent-volumes.ts';
import { podKind } from './pod/pods.ts';
import { storageClassKind } from './storage-classes.ts';

/** Every kind that this server serves: those that a controller or the node acts on, and no other. */
export const allKinds: ReadonlyMap<string, Kind> = new Map(
  [
    configMapKind,
    eventKind,
    namespaceKind,
    nodeKind,
    persistentVolumeClaimKind,
    persistentVolumeKind,
    podKind,
    secretKind,
    storageClassKind,
  ].map((kind) => [groupResource(kind.resource), kind]),
);
