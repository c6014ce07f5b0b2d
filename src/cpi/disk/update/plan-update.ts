import type { Stored } from '../../../kubernetes/object.ts';
import { ProductError } from '../../../errors/product-error.ts';
import type { PersistentVolumeClaim, StorageClass } from '../../../kubernetes/types/storage.ts';
import { annotation } from '../../objects/labels.ts';
import type { DiskProperties } from '../disk-properties.ts';
import { parseBytes, hasReachedSize, formatMiB, requestedBytes } from '../disks.ts';
import { findStorageClass, defaultClassName } from '../classes.ts';
import { directorFallbackHint } from './change-in-place.ts';

export interface UpdateInput {
  readonly claim: Stored<PersistentVolumeClaim>;
  readonly sizeMiB: number;
  readonly properties: DiskProperties;
  /** Undefined if the role may not list them. */
  readonly classes: readonly StorageClass[] | undefined;
}

export type UpdatePlan =
  | { readonly kind: 'keep' }
  /** A change in place. `null` removes a class that never came into effect. */
  | { readonly kind: 'change'; readonly grows: boolean; readonly attributesClass?: string | null }
  | { readonly kind: 'replace'; readonly source: StorageClass; readonly target: StorageClass };

const noProvisioner = 'kubernetes.io/no-provisioner';

/**
 * Decides how a disk becomes what its type requires now. Throws NOT_SUPPORTED for a change that no storage
 * driver can do; the director then copies file by file.
 */
export function planUpdate(input: UpdateInput): UpdatePlan {
  assertChangeable(input);
  const { claim, properties, classes } = input;
  const { present, target, grows, attributes } = differencesOf(input);
  if (target === present && !grows && attributes === undefined) return { kind: 'keep' };
  if (claim.status?.phase !== 'Bound')
    throw notSupported(claim, 'it was never attached, so it has no volume yet');
  if (classes === undefined && grows && attributes !== undefined) {
    // otherwise one change would be done before the other is refused
    throw notSupported(
      claim,
      'storage classes cannot be listed with this role, so it is not known whether it can grow beside another change',
    );
  }
  const inPlace =
    target === present && attributes !== 'none any more' && (!grows || isExpandable(classes, present));
  if (!inPlace) return replacementPlan(input, present, target);
  const attributesClass = properties.attributesClass ?? null;
  return { kind: 'change', grows, ...(attributes !== undefined && { attributesClass }) };
}

/** Throws NOT_SUPPORTED for a disk that is larger. Model: update.pml */
export function assertNotShrinking(claim: PersistentVolumeClaim, sizeMiB: number): void {
  const now = requestedBytes(claim);
  if (parseBytes(sizeMiB) < now) {
    throw notSupported(claim, `it has ${formatMiB(now)}, and volumes do not shrink to ${sizeMiB} MiB`);
  }
}

/** Throws NOT_SUPPORTED for changes that no volume supports, in place or by a copy. */
function assertChangeable({ claim, sizeMiB, properties }: UpdateInput): void {
  assertNotShrinking(claim, sizeMiB);
  if (!(claim.spec.accessModes ?? []).includes(properties.accessMode)) {
    throw notSupported(claim, `its claim cannot get the access mode ${properties.accessMode}`);
  }
}

interface Differences {
  /** The storage class of the claim; `target` is the requested one. */
  readonly present: string;
  readonly target: string;
  readonly grows: boolean;
  readonly attributes: ReturnType<typeof attributesChange>;
}

function differencesOf({ claim, sizeMiB, properties, classes }: UpdateInput): Differences {
  const present = claim.spec.storageClassName ?? '';
  return {
    present,
    target: targetName(claim, properties, classes) ?? present,
    grows: needsExpansion(claim, parseBytes(sizeMiB)),
    attributes: attributesChange(claim, properties.attributesClass),
  };
}

/** Also true if an interrupted call requested the size and the driver has not finished. */
function needsExpansion(claim: PersistentVolumeClaim, requested: bigint): boolean {
  return (
    requested > requestedBytes(claim) ||
    (claim.status?.phase === 'Bound' && !hasReachedSize(claim, requested))
  );
}

/** If the role may not read the class, the API decides. */
function isExpandable(classes: readonly StorageClass[] | undefined, name: string): boolean {
  return classes === undefined || findStorageClass(classes, name)?.allowVolumeExpansion === true;
}

/** Throws NOT_SUPPORTED unless both classes have the same driver: a driver can only copy its own volumes. */
function replacementPlan({ claim, classes }: UpdateInput, present: string, target: string): UpdatePlan {
  if (classes === undefined) {
    throw notSupported(
      claim,
      'storage classes cannot be listed with this role, so it is not known whether a driver could copy it',
    );
  }
  const [from, to] = [present, target].map((name) => findStorageClass(classes, name));
  if (from === undefined || to === undefined) {
    const missing = from === undefined ? present : target;
    throw notSupported(
      claim,
      `there is no storage class "${missing}" to copy it ${from === undefined ? 'from' : 'to'}`,
    );
  }
  if (from.provisioner !== to.provisioner || from.provisioner === noProvisioner) {
    throw notSupported(
      claim,
      `storage class "${present}" is of driver ${from.provisioner}, "${target}" of ${to.provisioner}: no driver copies that`,
    );
  }
  return { kind: 'replace', source: from, target: to };
}

/**
 * Returns the name of the requested class. Undefined: no change. A type that names no class any more requests
 * today's default class. A type that never named one requests no change, even if the default has changed
 * since.
 */
function targetName(
  { metadata: { annotations = {} } }: PersistentVolumeClaim,
  { storageClass }: DiskProperties,
  classes: readonly StorageClass[] | undefined,
): string | undefined {
  if (storageClass !== undefined) return storageClass;
  const hadNone = annotations[annotation.defaultClass] !== undefined;
  return hadNone || classes === undefined ? undefined : defaultClassName(classes);
}

function attributesChange(
  { spec, status }: PersistentVolumeClaim,
  requested: string | undefined,
): 'another' | 'none any more' | undefined {
  const effective = status?.currentVolumeAttributesClassName;
  // Kubernetes allows the removal of a class only while the class is not in effect
  if (requested === undefined && effective !== undefined) return 'none any more';
  const isResolved = requested === undefined || status?.phase !== 'Bound' || effective === requested;
  return spec.volumeAttributesClassName === requested && isResolved ? undefined : 'another';
}

function notSupported({ metadata }: PersistentVolumeClaim, why: string): ProductError {
  return new ProductError(
    'NOT_SUPPORTED',
    `disk '${metadata.name}' cannot be updated: ${why}; ${directorFallbackHint}`,
  );
}
