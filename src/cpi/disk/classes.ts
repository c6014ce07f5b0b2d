import { isApiError, isMissingResource } from '../../kubernetes/client/api-error.ts';
import { ifAllowed, type Resource } from '../../kubernetes/api.ts';
import type { KubernetesObject } from '../../kubernetes/object.ts';
import {
  storageClasses,
  volumeAttributesClasses,
  volumeSnapshotClasses,
} from '../../kubernetes/resources.ts';
import {
  type VolumeSnapshotClass,
  type StorageClass,
  type VolumeAttributesClass,
  volumeAnnotations,
} from '../../kubernetes/types/storage.ts';
import type { CallContext } from '../call.ts';
import type { Field } from '../../platform/field.ts';
import type { DiskProperties } from './disk-properties.ts';
import { ProductError } from '../../errors/product-error.ts';

/**
 * Checks that every class named exists and that all of them belong to one driver. A claim of a missing class
 * would wait forever. `field` has the names, for errors. A missing API is INVALID_ARGUMENT too, because no
 * caller of create_disk tolerates another type (bosh-director: disk_manager.rb), and the cloud_properties
 * must be corrected. Classes that the role may not read are not checked.
 */
export async function checkClasses(
  call: CallContext,
  properties: Partial<DiskProperties>,
  field: Field,
): Promise<void> {
  const { storageClass, attributesClass, snapshotClass } = properties;
  const locations = {
    storage: field.get('storage_class'),
    attributes: field.get('volume_attributes_class'),
    snapshots: field.get('snapshot_class'),
  };
  const [storage, attributes, snapshots] = await Promise.all([
    readClass<StorageClass>(call, storageClasses, storageClass, locations.storage),
    readClass<VolumeAttributesClass>(call, volumeAttributesClasses, attributesClass, locations.attributes),
    readClass<VolumeSnapshotClass>(call, volumeSnapshotClasses, snapshotClass, locations.snapshots),
  ]);
  checkDriver(storage, attributes?.driverName, locations.attributes);
  checkDriver(storage, snapshots?.driver, locations.snapshots);
}

async function readClass<T extends KubernetesObject>(
  call: CallContext,
  resource: Resource,
  name: string | undefined,
  field: Field,
): Promise<T | undefined> {
  if (name === undefined || name === '') return undefined;
  try {
    return await call.api.get<T>({ resource, name });
  } catch (error) {
    if (isMissingResource(error)) {
      const { plural, group, version } = resource;
      throw field.error(
        `names a class, and the cluster has no API for them (${plural}.${group}/${version}): leave it out`,
      );
    }
    if (isApiError(error, 404)) {
      const hint = resource === storageClasses ? '; static volumes have the class ""' : '';
      throw field.error(
        `names a class that the cluster does not have: "${name}"; make it, or name one of kubectl get ${resource.plural}${hint}`,
      );
    }
    // a role that may not read classes can still create claims
    if (isApiError(error, 403)) return undefined;
    throw error;
  }
}

function checkDriver(storage: StorageClass | undefined, driver: string | undefined, field: Field): void {
  if (storage === undefined || driver === undefined || driver === storage.provisioner) return;
  const { metadata, provisioner } = storage;
  throw field.error(
    `names a class of driver ${driver}, and storage_class "${metadata.name}" is of driver ${provisioner}: name one of that driver`,
  );
}

/** Returns all storage classes of the cluster; undefined if the role may not list them. */
export async function readStorageClasses(call: CallContext): Promise<readonly StorageClass[] | undefined> {
  return (await ifAllowed(call.api.list<StorageClass>(storageClasses)))?.items;
}

export function findStorageClass(
  classes: readonly StorageClass[] | undefined,
  name: string | undefined,
): StorageClass | undefined {
  return classes?.find(({ metadata }) => metadata.name === name);
}

/**
 * Returns the class of claims that name none: the newest of those that are marked as default (admission
 * plugin DefaultStorageClass).
 */
export function defaultClassName(classes: readonly StorageClass[]): string | undefined {
  const [newest] = classes
    .filter(({ metadata }) => metadata.annotations?.[volumeAnnotations.defaultClass] === 'true')
    .toSorted((one, other) =>
      (other.metadata.creationTimestamp ?? '').localeCompare(one.metadata.creationTimestamp ?? ''),
    );
  return newest?.metadata.name;
}

/**
 * Rejects if no snapshot of a disk of that driver can have the class: NOT_IMPLEMENTED without the API,
 * NOT_SUPPORTED if the class does not exist or is of another driver. If the role may not read it, the class
 * is accepted. Changes nothing.
 */
export async function checkSnapshotClass(
  call: CallContext,
  name: string,
  driver: string | undefined,
): Promise<void> {
  try {
    const found = await call.api.get<VolumeSnapshotClass>({ resource: volumeSnapshotClasses, name });
    if (driver === undefined || found.driver === driver) return;
  } catch (error) {
    if (isMissingResource(error)) {
      throw new ProductError('NOT_IMPLEMENTED', `${noSnapshotApi}, or leave out snapshot_class`);
    }
    if (isApiError(error, 403)) return;
    if (!isApiError(error, 404)) throw error;
  }
  const whose = driver === undefined ? '' : ` of driver ${driver}`;
  throw new ProductError(
    'NOT_SUPPORTED',
    `the cluster has no VolumeSnapshotClass "${name}"${whose}; create it or correct snapshot_class`,
  );
}

/** The message if the cluster does not serve VolumeSnapshots. */
export const noSnapshotApi =
  'the cluster has no API snapshot.storage.k8s.io/v1; install the snapshot controller (kubernetes-csi/external-snapshotter)';
