import { persistentVolumeClaims } from '../../kubernetes/resources.ts';
import type { PersistentVolumeClaim } from '../../kubernetes/volume.ts';
import type { Cloud } from '../cloud.ts';
import { annotation, isOurs, label } from '../labels.ts';
import { isDiskCid } from '../names.ts';
import { claimReference, findClaim } from './claim.ts';

/**
 * The claim that stands for a cid: its own or, where update_disk replaced that and its caller may not have heard of it,
 * the copy. Undefined for a cid that names no disk of ours.
 */
export async function findDisk(cloud: Cloud, cid: string): Promise<PersistentVolumeClaim | undefined> {
  if (!isDiskCid(cid)) return undefined;
  const claim = await findClaim(cloud, cid);
  if (claim !== undefined && !isReplaced(claim)) return claim;
  const { items } = await cloud.api.list<PersistentVolumeClaim>(persistentVolumeClaims, {
    namespace: claimReference(cloud, cid).namespace,
    labelSelector: `${label.replaces}=${cid}`,
  });
  return successorOf(items) ?? claim;
}

/** The one of several copies that holds the data: those on their way out were replaced in turn. Pure. */
function successorOf(copies: readonly PersistentVolumeClaim[]): PersistentVolumeClaim | undefined {
  const own = copies.filter((copy) => isOurs(copy, 'disk'));
  const whole = own.filter((copy) => !isReplaced(copy));
  // a copy of a copy has the same mark: while both are there, the former is the disk
  const [first] = (whole.length > 0 ? whole : own).toSorted(
    (one, other) =>
      Number(isBound(other)) - Number(isBound(one)) ||
      createdAt(one).localeCompare(createdAt(other)) ||
      nameOf(one).localeCompare(nameOf(other)),
  );
  return first;
}

/** A disk is deleted by update_disk only when its copy is whole. */
function isReplaced({ metadata }: PersistentVolumeClaim): boolean {
  return metadata.deletionTimestamp !== undefined && metadata.annotations?.[annotation.copy] !== undefined;
}

const isBound = ({ status }: PersistentVolumeClaim): boolean => status?.phase === 'Bound';
const createdAt = ({ metadata }: PersistentVolumeClaim): string => metadata.creationTimestamp ?? '';
const nameOf = ({ metadata }: PersistentVolumeClaim): string => metadata.name ?? '';
