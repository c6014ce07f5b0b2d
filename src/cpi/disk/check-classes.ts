import { isApiError, isMissingResource } from '../../kubernetes/api-error.ts';
import type { Resource } from '../../kubernetes/api.ts';
import type { KubernetesObject } from '../../kubernetes/object.ts';
import {
  storageClasses,
  volumeAttributesClasses,
  volumeSnapshotClasses,
} from '../../kubernetes/resources.ts';
import type { VolumeSnapshotClass } from '../../kubernetes/snapshot.ts';
import type { StorageClass, VolumeAttributesClass } from '../../kubernetes/volume.ts';
import type { CallContext } from '../cloud.ts';
import type { Location } from '../input.ts';
import { child, invalidValue } from '../input.ts';
import type { DiskProperties } from './claim.ts';

/**
 * Checks that every class named exists and that all of them belong to one driver. A claim of a missing class
 * would wait for ever. A missing API is INVALID_ARGUMENT too, because no caller of create_disk tolerates
 * another type (bosh-director: disk_manager.rb), and the cloud_properties must be corrected. Classes that the
 * role may not read are not checked.
 */
export async function checkClasses(
  cloud: CallContext,
  properties: Partial<DiskProperties>,
  place: Location,
): Promise<void> {
  const { storageClass, attributesClass, snapshotClass } = properties;
  const locations = {
    storage: child(place, 'storage_class'),
    attributes: child(place, 'volume_attributes_class'),
    snapshots: child(place, 'snapshot_class'),
  };
  const [storage, attributes, snapshots] = await Promise.all([
    readClass<StorageClass>(cloud, storageClasses, storageClass, locations.storage),
    readClass<VolumeAttributesClass>(cloud, volumeAttributesClasses, attributesClass, locations.attributes),
    readClass<VolumeSnapshotClass>(cloud, volumeSnapshotClasses, snapshotClass, locations.snapshots),
  ]);
  checkDriver(storage, attributes?.driverName, locations.attributes);
  checkDriver(storage, snapshots?.driver, locations.snapshots);
}

async function readClass<T extends KubernetesObject>(
  cloud: CallContext,
  resource: Resource,
  name: string | undefined,
  place: Location,
): Promise<T | undefined> {
  if (name === undefined || name === '') return undefined;
  try {
    return await cloud.api.get<T>({ resource, name });
  } catch (error) {
    if (isMissingResource(error)) {
      const { plural, group, version } = resource;
      throw invalidValue(
        place,
        `names a class, and the cluster has no API for them (${plural}.${group}/${version}): leave it out`,
      );
    }
    if (isApiError(error, 404)) {
      const hint = resource === storageClasses ? '; static volumes have the class ""' : '';
      throw invalidValue(
        place,
        `names a class that the cluster does not have: "${name}"; make it, or name one of kubectl get ${resource.plural}${hint}`,
      );
    }
    // a role that may not read classes can still create claims
    if (isApiError(error, 403)) return undefined;
    throw error;
  }
}

function checkDriver(storage: StorageClass | undefined, driver: string | undefined, place: Location): void {
  if (storage === undefined || driver === undefined || driver === storage.provisioner) return;
  const { metadata, provisioner } = storage;
  throw invalidValue(
    place,
    `names a class of driver ${driver}, and storage_class "${metadata.name ?? ''}" is of driver ${provisioner}: name one of that driver`,
  );
}
