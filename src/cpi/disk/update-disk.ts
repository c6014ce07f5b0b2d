import type { CallContext } from '../call.ts';
import type { UpdateDiskRequest } from '../protocol/methods.ts';
import { Field } from '../../platform/field.ts';
import { annotation } from '../objects/labels.ts';
import { findSnapshotClass } from '../snapshot/snapshot-disk.ts';
import { checkSnapshotClass, findStorageClass, readStorageClasses } from './classes.ts';
import { replaceDisk } from './update/replace-disk.ts';
import {
  expandVolume,
  checkAttributesClass,
  changeAttributesClass,
  annotateDiskType,
} from './update/change-in-place.ts';
import { type UpdatePlan, type UpdateInput, planUpdate } from './update/plan-update.ts';
import { parseDiskProperties } from './disk-properties.ts';
import { requireDetachedDisk } from './detached-disk.ts';

/**
 * update_disk(disk_cid, new_size MiB, cloud_properties): makes a detached disk match its type, in the
 * cheapest way: no change or a change in place (returns null), or a replacement that the storage driver
 * copies (returns its cid). NOT_SUPPORTED if no driver can do it, NOT_IMPLEMENTED if the cluster lacks an
 * API, both without changes: the director then copies. If an earlier call was killed after its work, the
 * result is the cid of the replacement that it made.
 *
 * Model: update.pml
 */
export async function updateDisk(
  call: CallContext,
  { diskCid: cid, sizeMiB, cloudProperties }: UpdateDiskRequest,
): Promise<string | null> {
  const properties = parseDiskProperties(
    new Field(cloudProperties, 'update_disk.cloud_properties', 'INVALID_ARGUMENT'),
  );
  const claim = await requireDetachedDisk(call, cid, 'updated');
  const classes = await readStorageClasses(call);
  const input: UpdateInput = { claim, sizeMiB, properties, classes };
  const plan = planUpdate(input);
  await checkSnapshotClassChange(call, input);
  const replacement = await applyPlan(call, cid, input, plan);
  if (replacement !== undefined) return replacement;
  const { name } = claim.metadata;
  return name === cid ? null : name;
}

/** Checks the snapshot class if it changes. The recorded one was checked when it was recorded. */
async function checkSnapshotClassChange(
  call: CallContext,
  { claim: { metadata, spec }, properties: { snapshotClass }, classes }: UpdateInput,
): Promise<void> {
  if (snapshotClass === undefined || metadata.annotations?.[annotation.snapshotClass] === snapshotClass)
    return;
  await checkSnapshotClass(
    call,
    snapshotClass,
    findStorageClass(classes, spec.storageClassName)?.provisioner,
  );
}

/** Returns the cid of the replacement if one was made. */
async function applyPlan(
  call: CallContext,
  cid: string,
  input: UpdateInput,
  plan: UpdatePlan,
): Promise<string | undefined> {
  const { claim, sizeMiB, properties, classes } = input;
  const { attributesClass, snapshotClass } = properties;
  switch (plan.kind) {
    case 'keep':
      await annotateDiskType(call, claim, properties);
      return undefined;
    case 'change':
      if (plan.attributesClass !== undefined) {
        const driver = findStorageClass(classes, claim.spec.storageClassName)?.provisioner;
        if (plan.attributesClass !== null) await checkAttributesClass(call, plan.attributesClass, driver);
        await changeAttributesClass(call, claim, plan.attributesClass);
      }
      if (plan.grows) await expandVolume(call, claim, sizeMiB);
      await annotateDiskType(call, claim, properties);
      return undefined;
    case 'replace': {
      const driver = plan.source.provisioner;
      if (attributesClass !== undefined) await checkAttributesClass(call, attributesClass, driver);
      const answer = await findSnapshotClass(call, { named: snapshotClass, driver });
      const means = 'missing' in answer ? undefined : answer.className;
      const { source, target } = plan;
      return replaceDisk(call, {
        ...{ cid, claim, sizeMiB, properties, source, target },
        snapshotClass: means,
      });
    }
    default:
      return plan satisfies never;
  }
}
