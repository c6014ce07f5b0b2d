import { groupResource } from '../../embedded-cluster/api-server/errors/status-errors.ts';
import type { Kind } from '../../embedded-cluster/api-server/kinds/kind.ts';
import type { LocalApi } from '../../embedded-cluster/api-server/local-api.ts';
import { volumeAttachments } from '../../src/cpi/disk/attach/volume-attachments.ts';
import { networkPolicyKind, volumeAttachmentKind } from '../../src/cpi/testing/foreign-kinds.ts';
import type { Resource } from '../../src/kubernetes/api.ts';
import type { KubernetesObject } from '../../src/kubernetes/object.ts';
import type { Pod } from '../../src/kubernetes/types/pod.ts';
import { persistentVolumeClaims, persistentVolumes, pods } from '../../src/kubernetes/resources.ts';
import {
  type PersistentVolume,
  type PersistentVolumeClaim,
  volumeAnnotations,
} from '../../src/kubernetes/types/storage.ts';

const namespace = 'bosh';
const driver = 'driver.example';
const image = 'embedded.bosh-kubernetes/host-root:1';

/**
 * Adds kinds that the embedded cluster does not serve, because it has no driver that attaches volumes and
 * enforces no policies.
 */
export function serveForeignKinds({ registry }: LocalApi): void {
  const kinds = registry.kinds as Map<string, Kind>;
  for (const kind of [volumeAttachmentKind, networkPolicyKind]) kinds.set(groupResource(kind.resource), kind);
}

/**
 * Creates the pods `from` to `to` of others, each with a claim and a volume that is attached to its node, and
 * waits until all run.
 */
export async function addOthers(
  api: LocalApi,
  { from, to, nodeCount }: { from: number; to: number; nodeCount: number },
): Promise<void> {
  for (let index = from; index < to; index += 1) {
    const name = `other-${index}`;
    const nodeName = `sim-${(index % nodeCount) + 1}`;
    await addBoundClaim(api, name);
    await api.create(pods, podOf(name, nodeName));
    await api.create<VolumeAttachment>(volumeAttachments, {
      metadata: { name: `csi-${name}` },
      spec: { attacher: driver, nodeName, source: { persistentVolumeName: name } },
      status: { attached: true },
    });
  }
  await untilAll(api, pods, 'Running');
  await untilAll(api, persistentVolumeClaims, 'Bound');
}

/** Creates a claim that is bound from the start: the binder would search all volumes for each claim. */
async function addBoundClaim(api: LocalApi, name: string): Promise<void> {
  const { store } = api.registry;
  const made = [
    api.create(persistentVolumes, volumeOf(name, name)),
    api.create(persistentVolumeClaims, claimOf(name)),
  ];
  const volume = store.get(persistentVolumes.plural, undefined, name);
  const claim = store.get(persistentVolumeClaims.plural, namespace, name);
  if (volume === undefined || claim === undefined) throw new Error(`${name} was not created`);
  const spec = volume['spec'] as PersistentVolume['spec'];
  store.put(persistentVolumes.plural, {
    ...volume,
    metadata: { ...volume.metadata, finalizers: ['kubernetes.io/pv-protection'] },
    spec: { ...spec, claimRef: { namespace, name, uid: claim.metadata.uid } },
    status: { phase: 'Bound' },
  });
  store.put(persistentVolumeClaims.plural, {
    ...claim,
    metadata: {
      ...claim.metadata,
      annotations: { [volumeAnnotations.bindCompleted]: 'yes' },
      finalizers: ['kubernetes.io/pvc-protection'],
    },
    status: { phase: 'Bound', accessModes: ['ReadWriteOnce'], capacity: { storage: '1Gi' } },
  });
  await Promise.all(made);
}

interface VolumeAttachment extends KubernetesObject {
  spec: { attacher: string; nodeName: string; source: { persistentVolumeName: string } };
  status: { attached: boolean };
}

/** Returns a volume of a driver that attaches; for the claim of that name, or for any claim. */
export const volumeOf = (name: string, claimName?: string): PersistentVolume => ({
  metadata: { name },
  spec: {
    capacity: { storage: '1Gi' },
    accessModes: ['ReadWriteOnce'],
    persistentVolumeReclaimPolicy: 'Retain',
    storageClassName: '',
    ...(claimName !== undefined && { claimRef: { namespace, name: claimName } }),
    csi: { driver, volumeHandle: `volume-${name}` },
  },
});

const claimOf = (name: string): PersistentVolumeClaim => ({
  metadata: { namespace, name },
  spec: {
    accessModes: ['ReadWriteOnce'],
    storageClassName: '',
    volumeName: name,
    resources: { requests: { storage: '1Gi' } },
  },
});

const podOf = (name: string, nodeName: string): Pod => ({
  metadata: { namespace, name },
  spec: {
    nodeName,
    automountServiceAccountToken: false,
    containers: [{ name: 'main', image, command: ['sleep'] }],
    volumes: [{ name: 'data', persistentVolumeClaim: { claimName: name } }],
  },
});

/** Waits for the cluster's work on new objects, which is not part of a call. */
async function untilAll({ registry }: LocalApi, { plural }: Resource, phase: string): Promise<void> {
  const isReady = (object: KubernetesObject & { status?: unknown }): boolean =>
    (object.status as { phase?: string } | undefined)?.phase === phase;
  while (!registry.store.list(plural, namespace).every(isReady)) {
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}
