import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { readStoredObjects } from '../../../embedded-cluster/index.ts';
import { objectLabels } from '../../bosh/object-labels.ts';
import { isProductError } from '../../errors/product-error.ts';
import { oneLine } from '../../errors/text.ts';
import { type BoshName, boshNameOf, fullName } from '../../inventory/bosh-name.ts';
import { takeInventory } from '../../inventory/inventory.ts';
import { labelOf } from '../../inventory/managed-objects.ts';
import { asObjectLists } from '../../inventory/object-lists.ts';
import type { KubernetesObject } from '../../kubernetes/object.ts';

/** A VM, disk or snapshot in the embedded cluster, in any namespace. A disk may be a claim of kubectl. */
export interface ClusterResource {
  readonly kind: 'VM' | 'disk' | 'snapshot';
  readonly cid: string;
  /** For example `dep/web/0`. Absent if BOSH gave the object no name. */
  readonly name: string | undefined;
  readonly directorId: string | undefined;
}

/** The VMs, disks and snapshots in the embedded cluster. */
export interface ClusterContents {
  /** The uid of the namespace kube-system. Absent if the cluster was never started, or is damaged. */
  readonly uid?: string | undefined;
  readonly resources: readonly ClusterResource[];
  /** The reason why the cluster may have resources that cannot be read. */
  readonly problem?: string | undefined;
}

/**
 * Reads the contents of the embedded cluster from its files, so that it need not run. Changes nothing. A
 * cluster that does not exist is empty.
 */
export async function readClusterContents(clusterDirectory: string): Promise<ClusterContents> {
  try {
    const objects = await readStoredObjects(clusterDirectory);
    if (objects !== undefined) return contentsOf(objects);
  } catch (error) {
    if (isProductError(error)) return { resources: [], problem: error.message };
    if (!(error instanceof Error && 'syscall' in error)) throw error;
    return { resources: [], problem: `its objects cannot be read: ${error.message}` };
  }
  return (await hasVolumes(clusterDirectory))
    ? {
        resources: [],
        problem: `it has volumes in '${join(clusterDirectory, 'volumes')}', but its journal is missing`,
      }
    : { resources: [] };
}

function contentsOf(objects: ReadonlyMap<string, readonly KubernetesObject[]>): ClusterContents {
  const pods = objects.get('pods') ?? [];
  const { vms, disks } = takeInventory(
    asObjectLists({
      ...{ vmPods: pods, diskPods: pods, vmSecrets: objects.get('secrets') ?? [] },
      claims: objects.get('persistentvolumeclaims') ?? [],
    }),
  );
  const snapshots = objects.get('volumesnapshots.snapshot.storage.k8s.io') ?? [];
  const namespace = objects.get('namespaces')?.find(({ metadata }) => metadata.name === 'kube-system');
  return {
    uid: namespace?.metadata.uid,
    resources: [
      ...vms.map(
        ({ cid, name, secret, pod }) => ({ kind: 'VM', cid, ...labelsOf(name, secret ?? pod) }) as const,
      ),
      ...disks.map(({ cid, name, claim }) => ({ kind: 'disk', cid, ...labelsOf(name, claim) }) as const),
      ...snapshots.map((snapshot) => {
        const names = labelsOf(boshNameOf(snapshot), snapshot);
        return { kind: 'snapshot', cid: snapshot.metadata.name, ...names } as const;
      }),
    ],
  };
}

const labelsOf = (
  name: BoshName,
  owner: KubernetesObject | undefined,
): Pick<ClusterResource, 'name' | 'directorId'> => ({
  name: fullName(name),
  directorId: owner && labelOf(owner, objectLabels.directorId),
});

async function hasVolumes(clusterDirectory: string): Promise<boolean> {
  const volumes = join(clusterDirectory, 'volumes');
  const isVolume = (name: string): boolean => !name.startsWith('.');
  return (await namesIn(volumes)).some(isVolume) || (await namesIn(join(volumes, '.snapshots'))).length > 0;
}

async function namesIn(directory: string): Promise<string[]> {
  try {
    return await readdir(directory);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}

/** Returns for example `VM 'dep/web/0' (vm-1)`, without control characters. */
export function describeResource({ kind, cid, name }: ClusterResource): string {
  return oneLine(name === undefined ? `${kind} '${cid}'` : `${kind} '${name}' (${cid})`);
}
