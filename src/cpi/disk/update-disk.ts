import type { CallContext } from '../cloud.ts';
import type { Location } from '../input.ts';
import { child, positiveIntegerAt, recordAt, stringAt } from '../input.ts';
import { annotation } from '../labels.ts';
import { findSnapshotClass } from '../snapshot/snapshot-class.ts';
import { checkSnapshotClass } from './change/check-snapshot-class.ts';
import { copyDisk } from './change/copy-disk.ts';
import { expandVolume } from './change/grow.ts';
import { checkAttributesClass, changeAttributesClass } from './change/modify.ts';
import { annotateDiskType } from './change/note-type.ts';
import type { UpdatePlan, UpdateInput } from './change/plan-update.ts';
import { planUpdate } from './change/plan-update.ts';
import { parseDiskProperties } from './claim.ts';
import { requireDetachedDisk } from './detached-disk.ts';
import { findStorageClass, readStorageClasses } from './storage-classes.ts';

/**
 * update_disk(disk_cid, new_size MiB, cloud_properties): brings a detached disk to its type, by the cheapest way there is:
 * nothing or in place (null), or a copy that the storage driver makes (its cid). What no driver can do is NOT_SUPPORTED,
 * what the cluster has no API for NOT_IMPLEMENTED, both with nothing changed: the director then copies.
 * Where an earlier call was killed after its work, the result is the cid of the copy that it made.
 *
 * Model: update.pml
 */
export async function updateDisk(cloud: CallContext, args: readonly unknown[]): Promise<string | null> {
  const place: Location = { code: 'INVALID_ARGUMENT', path: 'update_disk' };
  const cid = stringAt(args[0], child(place, 'disk_cid'));
  const sizeMiB = positiveIntegerAt(args[1], child(place, 'new_size'));
  const properties = parseDiskProperties(
    recordAt(args[2], child(place, 'cloud_properties')),
    child(place, 'cloud_properties'),
  );
  const claim = await requireDetachedDisk(cloud, cid, 'updated');
  const classes = await readStorageClasses(cloud);
  const question: UpdateInput = { claim, sizeMiB, properties, classes };
  const plan = planUpdate(question);
  await checkSnapshotClassChange(cloud, question);
  const copy = await applyPlan(cloud, cid, question, plan);
  if (copy !== undefined) return copy;
  const { name = '' } = claim.metadata;
  return name === cid ? null : name;
}

/** The one that is noted was checked when it was. */
async function checkSnapshotClassChange(
  cloud: CallContext,
  { claim: { metadata, spec }, properties: { snapshotClass }, classes }: UpdateInput,
): Promise<void> {
  if (snapshotClass === undefined || metadata.annotations?.[annotation.snapshotClass] === snapshotClass)
    return;
  await checkSnapshotClass(
    cloud,
    snapshotClass,
    findStorageClass(classes, spec.storageClassName)?.provisioner,
  );
}

/** Resolves with the cid of the copy where one was made. */
async function applyPlan(
  cloud: CallContext,
  cid: string,
  question: UpdateInput,
  plan: UpdatePlan,
): Promise<string | undefined> {
  const { claim, sizeMiB, properties, classes } = question;
  const { attributesClass, snapshotClass } = properties;
  switch (plan.kind) {
    case 'keep':
      await annotateDiskType(cloud, claim, properties);
      return undefined;
    case 'change':
      if (plan.attributesClass !== undefined) {
        const driver = findStorageClass(classes, claim.spec.storageClassName)?.provisioner;
        if (plan.attributesClass !== null) await checkAttributesClass(cloud, plan.attributesClass, driver);
        await changeAttributesClass(cloud, claim, plan.attributesClass);
      }
      if (plan.grows) await expandVolume(cloud, claim, sizeMiB);
      await annotateDiskType(cloud, claim, properties);
      return undefined;
    case 'copy': {
      const driver = plan.source.provisioner;
      if (attributesClass !== undefined) await checkAttributesClass(cloud, attributesClass, driver);
      const answer = await findSnapshotClass(cloud, { named: snapshotClass, driver });
      const means = 'lacking' in answer ? undefined : answer.className;
      const { source, target } = plan;
      return copyDisk(cloud, {
        ...{ cid, claim, sizeMiB, properties, source, target },
        snapshotClass: means,
      });
    }
    default:
      return plan satisfies never;
  }
}
