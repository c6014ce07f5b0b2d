import { ifReadable } from '../../kubernetes/api.ts';
import { ProductError } from '../../errors/product-error.ts';
import type { NodeSelectorTerm } from '../../kubernetes/types/pod.ts';
import { persistentVolumes } from '../../kubernetes/resources.ts';
import type { PersistentVolume } from '../../kubernetes/types/storage.ts';
import type { CallContext } from '../call.ts';
import { findDisk } from '../disk/disks.ts';
import { zoneLabel } from './placement-properties.ts';

interface VolumeReach {
  readonly diskCid: string;
  readonly terms: readonly NodeSelectorTerm[];
}

/**
 * Returns node selector terms, as alternatives, that reach the volumes of these disks; empty: any node.
 * disk_cids are hints, so a disk that is missing, not bound yet (a class that waits for its first consumer)
 * or whose volume the role may not read is ignored. Sends two GETs per disk. Rejects with VM_CREATION_FAILED
 * if a volume is not in the requested zone: the disk could not be attached there.
 */
export async function volumeTerms(
  call: CallContext,
  diskCids: readonly string[],
  zone: string | undefined,
): Promise<readonly NodeSelectorTerm[]> {
  const reaches = (await Promise.all(diskCids.map((cid) => reachOfVolume(call, cid)))).filter(
    (reach) => reach !== undefined,
  );
  for (const reach of reaches) assertSameZone(reach, zone);
  return intersectTerms(reaches.map(({ terms }) => terms));
}

/** Intersects several lists of alternative node selector terms. */
export function intersectTerms(lists: readonly (readonly NodeSelectorTerm[])[]): readonly NodeSelectorTerm[] {
  const [first = [], ...others] = lists;
  return others.reduce<readonly NodeSelectorTerm[]>(
    (common, terms) => common.flatMap((a) => terms.map((b) => intersectPair(a, b))),
    first,
  );
}

function intersectPair(a: NodeSelectorTerm, b: NodeSelectorTerm): NodeSelectorTerm {
  const matchExpressions = distinct([...(a.matchExpressions ?? []), ...(b.matchExpressions ?? [])]);
  const matchFields = distinct([...(a.matchFields ?? []), ...(b.matchFields ?? [])]);
  return {
    ...(matchExpressions.length > 0 && { matchExpressions }),
    ...(matchFields.length > 0 && { matchFields }),
  };
}

function distinct<T>(items: readonly T[]): T[] {
  return [...new Map(items.map((item) => [JSON.stringify(item), item])).values()];
}

async function reachOfVolume(call: CallContext, diskCid: string): Promise<VolumeReach | undefined> {
  const claim = await findDisk(call, diskCid);
  const name = claim?.status?.phase === 'Bound' ? claim.spec.volumeName : undefined;
  if (name === undefined) return undefined;
  const volume = await ifReadable(call.api.get<PersistentVolume>({ resource: persistentVolumes, name }));
  const terms = volume?.spec.nodeAffinity?.required?.nodeSelectorTerms ?? [];
  return terms.length === 0 ? undefined : { diskCid, terms };
}

function assertSameZone({ diskCid, terms }: VolumeReach, zone: string | undefined): void {
  const zones = terms.map(({ matchExpressions = [] }) =>
    matchExpressions.find(({ key, operator }) => key === zoneLabel && operator === 'In'),
  );
  const named = zones.flatMap((requirement) => requirement?.values ?? []);
  if (zone === undefined || zones.some((requirement) => requirement === undefined) || named.includes(zone))
    return;
  throw new ProductError(
    'VM_CREATION_FAILED',
    `a VM in zone '${zone}' cannot attach disk '${diskCid}', whose volume is in zone ${named.map((name) => `'${name}'`).join(', ')}; ` +
      'put the instance into the AZ of its disk, or move the disk first',
  );
}
