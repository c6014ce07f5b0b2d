import { isApiError } from '../../../src/kubernetes/client/api-error.ts';
import { type KubernetesApi, type ObjectReference, ignoreNotFound } from '../../../src/kubernetes/api.ts';
import { persistentVolumeClaims, persistentVolumes } from '../../../src/kubernetes/resources.ts';
import { volumeAnnotations, type PersistentVolumeClaim } from '../../../src/kubernetes/types/storage.ts';
import { until } from '../../support/until.ts';

/** Makes the delayed change happen that a call waits for. */
export type Release = () => Promise<void>;

const finalizer = 'bosh.cloudfoundry.org/test';

/** Keeps a deleted object until it is released. */
export async function holdEnd(api: KubernetesApi, reference: ObjectReference): Promise<Release> {
  const { metadata } = await api.get(reference);
  await api.patch(reference, { metadata: { finalizers: [...(metadata.finalizers ?? []), finalizer] } });
  return async () => {
    await until(`${reference.name} to be let go`, () => withoutFinalizer(api, reference));
  };
}

/**
 * Returns false if another client changed the object in the meantime, for example by removing its own
 * finalizer.
 */
async function withoutFinalizer(api: KubernetesApi, reference: ObjectReference): Promise<boolean> {
  const found = await ignoreNotFound(api.get(reference));
  if (found === undefined) return true;
  const { resourceVersion, finalizers = [] } = found.metadata;
  const rest = finalizers.filter((name) => name !== finalizer);
  try {
    await api.patch(reference, { metadata: { resourceVersion, finalizers: rest } });
    return true;
  } catch (error) {
    if (isApiError(error, 409)) return false;
    throw error;
  }
}

/**
 * Keeps the volume of a disk from growing until it is released: the embedded cluster's driver ignores it as
 * another driver's volume.
 */
export async function holdGrowth(api: KubernetesApi, namespace: string, disk: string): Promise<Release> {
  const { spec } = await api.get<PersistentVolumeClaim>({
    ...{ resource: persistentVolumeClaims, namespace, name: disk },
  });
  const volume = { resource: persistentVolumes, name: spec.volumeName ?? '' };
  const key = volumeAnnotations.provisionedBy;
  const madeBy = (await api.get(volume)).metadata.annotations?.[key] ?? null;
  const setDriver = async (driver: string | null): Promise<void> => {
    await api.patch(volume, { metadata: { annotations: { [key]: driver } } });
  };
  await setDriver('bosh.cloudfoundry.org/test');
  return () => setDriver(madeBy);
}
