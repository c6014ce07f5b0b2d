import { isApiError } from '../../kubernetes/api-error.ts';
import { volumeSnapshotClasses } from '../../kubernetes/resources.ts';
import type { VolumeSnapshotClass } from '../../kubernetes/snapshot.ts';
import { snapshotAnnotations } from '../../kubernetes/snapshot.ts';
import type { CallContext } from '../cloud.ts';

export interface SnapshotClassQuestion {
  /** `snapshot_class` of the disk's type. Undefined: the default class of the driver. */
  readonly named: string | undefined;
  /** Undefined if no object names it: a static volume. */
  readonly driver: string | undefined;
}

export type SnapshotClassAnswer =
  /** Without a name the cluster's snapshot controller chooses the class: the role may not read classes. */
  { readonly className: string | undefined } | { readonly lacking: string };

/** The message if the cluster does not serve VolumeSnapshots. */
export const noSnapshotApi =
  'the cluster has no API snapshot.storage.k8s.io/v1; install the snapshot controller (kubernetes-csi/external-snapshotter)';

/**
 * Finds the VolumeSnapshotClass for a disk, or returns what the cluster lacks. Sends one request; changes
 * nothing.
 */
export async function findSnapshotClass(
  cloud: CallContext,
  question: SnapshotClassQuestion,
): Promise<SnapshotClassAnswer> {
  try {
    const { items } = await cloud.api.list<VolumeSnapshotClass>(volumeSnapshotClasses);
    return chooseSnapshotClass(items, question);
  } catch (error) {
    if (isApiError(error, 404)) return { lacking: noSnapshotApi };
    if (isApiError(error, 403)) return { className: question.named };
    throw error;
  }
}

/** Chooses the class without requests. */
export function chooseSnapshotClass(
  classes: readonly VolumeSnapshotClass[],
  { named, driver }: SnapshotClassQuestion,
): SnapshotClassAnswer {
  const serving = classes.filter((one) => driver === undefined || one.driver === driver);
  if (named !== undefined) {
    return serving.some(({ metadata }) => metadata.name === named)
      ? { className: named }
      : {
          lacking: `the cluster has no VolumeSnapshotClass "${named}"${ofDriver(driver)}; create it or correct snapshot_class`,
        };
  }
  const defaults = serving.filter(
    ({ metadata }) => metadata.annotations?.[snapshotAnnotations.defaultClass] === 'true',
  );
  const [first, second] = defaults;
  if (first !== undefined && second === undefined) return { className: first.metadata.name };
  const count = first === undefined ? 'no' : 'more than one';
  return {
    lacking: `the cluster has ${count} default VolumeSnapshotClass${ofDriver(driver)}; name one as snapshot_class of the disk type`,
  };
}

const ofDriver = (driver: string | undefined): string => (driver === undefined ? '' : ` of driver ${driver}`);
