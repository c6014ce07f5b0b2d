import { isApiError } from '../../kubernetes/api-error.ts';
import { storageClasses } from '../../kubernetes/resources.ts';
import type { StorageClass } from '../../kubernetes/volume.ts';
import { volumeAnnotations } from '../../kubernetes/volume.ts';
import type { CallContext } from '../cloud.ts';

/** Returns all storage classes of the cluster; undefined if the role may not list them. */
export async function readStorageClasses(cloud: CallContext): Promise<readonly StorageClass[] | undefined> {
  try {
    return (await cloud.api.list<StorageClass>(storageClasses)).items;
  } catch (error) {
    if (isApiError(error, 403)) return undefined;
    throw error;
  }
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
