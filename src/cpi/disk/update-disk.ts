import type { Cloud } from '../cloud.ts';
import type { Place } from '../input.ts';
import { at, positiveIntegerAt, recordAt, stringAt } from '../input.ts';
import { annotation } from '../labels.ts';
import { findSnapshotClass } from '../snapshot/snapshot-class.ts';
import { checkSnapshotClass } from './change/check-snapshot-class.ts';
import { copyDisk } from './change/copy-disk.ts';
import { grow } from './change/grow.ts';
import { checkAttributesClass, modify } from './change/modify.ts';
import { noteType } from './change/note-type.ts';
import type { UpdatePlan, UpdateQuestion } from './change/plan-update.ts';
import { planUpdate } from './change/plan-update.ts';
import { parseDiskProperties } from './claim.ts';
import { detachedDisk } from './detached-disk.ts';
import { classNamed, readStorageClasses } from './storage-classes.ts';

/**
 * update_disk(disk_cid, new_size MiB, cloud_properties): brings a detached disk to its type, by the cheapest way there is:
 * nothing or in place (null), or a copy that the storage driver makes (its cid). What no driver can do is NOT_SUPPORTED,
 * what the cluster has no API for NOT_IMPLEMENTED, both with nothing changed: the director then copies.
 * Where an earlier call was killed after its work, the result is the cid of the copy that it made.
 *
 * Model: update.pml
 */
export async function updateDisk(cloud: Cloud, args: readonly unknown[]): Promise<string | null> {
  const place: Place = { code: 'INVALID_ARGUMENT', path: 'update_disk' };
  const cid = stringAt(args[0], at(place, 'disk_cid'));
  const sizeMiB = positiveIntegerAt(args[1], at(place, 'new_size'));
  const properties = parseDiskProperties(
    recordAt(args[2], at(place, 'cloud_properties')),
    at(place, 'cloud_properties'),
  );
  const claim = await detachedDisk(cloud, cid, 'updated');
  const classes = await readStorageClasses(cloud);
  const question: UpdateQuestion = { claim, sizeMiB, properties, classes };
  const plan = planUpdate(question);
  await checkAnotherSnapshotClass(cloud, question);
  const copy = await carryOut(cloud, cid, question, plan);
  if (copy !== undefined) return copy;
  const { name = '' } = claim.metadata;
  return name === cid ? null : name;
}

/** The one that is noted was checked when it was. */
async function checkAnotherSnapshotClass(
  cloud: Cloud,
  { claim: { metadata, spec }, properties: { snapshotClass }, classes }: UpdateQuestion,
): Promise<void> {
  if (snapshotClass === undefined || metadata.annotations?.[annotation.snapshotClass] === snapshotClass)
    return;
  await checkSnapshotClass(cloud, snapshotClass, classNamed(classes, spec.storageClassName)?.provisioner);
}

/** Resolves with the cid of the copy where one was made. */
async function carryOut(
  cloud: Cloud,
  cid: string,
  question: UpdateQuestion,
  plan: UpdatePlan,
): Promise<string | undefined> {
  const { claim, sizeMiB, properties, classes } = question;
  const { attributesClass, snapshotClass } = properties;
  switch (plan.kind) {
    case 'keep':
      await noteType(cloud, claim, properties);
      return undefined;
    case 'change':
      if (plan.attributesClass !== undefined) {
        const driver = classNamed(classes, claim.spec.storageClassName)?.provisioner;
        if (plan.attributesClass !== null) await checkAttributesClass(cloud, plan.attributesClass, driver);
        await modify(cloud, claim, plan.attributesClass);
      }
      if (plan.grows) await grow(cloud, claim, sizeMiB);
      await noteType(cloud, claim, properties);
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
