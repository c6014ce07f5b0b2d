import { join } from 'node:path';
import type { ObjectReference } from '../../../src/kubernetes/api.ts';
import type { EventRecord } from '../../../src/kubernetes/describe-pod.ts';
import {
  events,
  persistentVolumeClaims,
  persistentVolumes,
  pods,
  volumeSnapshots,
} from '../../../src/kubernetes/resources.ts';
import type {
  VolumeSnapshot,
  PersistentVolume,
  PersistentVolumeClaim,
} from '../../../src/kubernetes/types/storage.ts';
import { until } from '../../support/until.ts';
import { loopDriver } from '../csi/drivers.ts';
import { type Violation, openVolumeStore, type VolumeStore } from '../csi/volume-store.ts';
import { PodWorld, type PodParts } from '../pod-world.ts';
import { testCluster } from '../test-cluster.ts';
import { volumePaths } from './services.ts';

/** Claims of a test, and pods that have them at /disk. */
export class VolumeWorld {
  readonly pods: PodWorld;
  /** The volume store of the driver `loop`. */
  readonly store: VolumeStore;

  private constructor(world: PodWorld, store: VolumeStore) {
    this.pods = world;
    this.store = store;
  }

  static async open(): Promise<VolumeWorld> {
    const { volumes } = volumePaths(testCluster().layout);
    return new VolumeWorld(await PodWorld.open(), await openVolumeStore(join(volumes, loopDriver.name)));
  }

  async close(): Promise<void> {
    await this.pods.close();
  }

  claimAt(name: string): ObjectReference {
    return { resource: persistentVolumeClaims, namespace: this.pods.namespace, name };
  }

  claimNow(name: string): Promise<PersistentVolumeClaim> {
    return this.pods.api.get<PersistentVolumeClaim>(this.claimAt(name));
  }

  claim(
    name: string,
    spec: Partial<PersistentVolumeClaim['spec']> = {},
    storage = '32Mi',
  ): Promise<PersistentVolumeClaim> {
    return this.pods.api.create<PersistentVolumeClaim>(persistentVolumeClaims, {
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      metadata: { name, namespace: this.pods.namespace },
      spec: {
        accessModes: ['ReadWriteOnce'],
        storageClassName: 'loop',
        resources: { requests: { storage } },
        ...spec,
      },
    });
  }

  async bound(name: string): Promise<PersistentVolume> {
    const volume = await this.pods.until<PersistentVolumeClaim, string>(
      persistentVolumeClaims,
      name,
      (claim) => (claim?.status?.phase === 'Bound' ? claim.spec.volumeName : undefined),
    );
    return await this.pods.api.get<PersistentVolume>({ resource: persistentVolumes, name: volume });
  }

  /** Creates a pod that the scheduler puts on that node, with the claim at /disk. */
  async pod(name: string, claimName: string, node: string, parts: PodParts = {}): Promise<void> {
    await this.pods.pod(name, {
      ...parts,
      spec: {
        nodeSelector: { 'kubernetes.io/hostname': node },
        volumes: [{ name: 'disk', persistentVolumeClaim: { claimName } }],
      },
      container: { volumeMounts: [{ name: 'disk', mountPath: '/disk' }] },
    });
  }

  /** Runs a pod with the claim on that node while `action` runs. The pod is deleted afterwards. */
  async use(claim: string, node: string, action: (pod: string) => Promise<unknown>): Promise<void> {
    const name = `${claim}-${node}`;
    await this.pod(name, claim, node);
    await this.pods.ready(name);
    await action(name);
    await this.pods.remove(pods, name);
  }

  /** Takes a snapshot of a claim and waits until it can be restored. */
  async snapshot(name: string, claim: string): Promise<void> {
    await this.pods.api.create<VolumeSnapshot>(volumeSnapshots, {
      apiVersion: 'snapshot.storage.k8s.io/v1',
      kind: 'VolumeSnapshot',
      metadata: { name, namespace: this.pods.namespace },
      spec: { source: { persistentVolumeClaimName: claim } },
    });
    await this.pods.until<VolumeSnapshot, true>(volumeSnapshots, name, (snapshot) =>
      snapshot?.status?.readyToUse === true ? true : undefined,
    );
  }

  /** Waits for an event about the named object with a matching message. */
  async untilEvent(name: string, message: RegExp): Promise<void> {
    await until(`an event about ${name} that says ${String(message)}`, async () => {
      const { items } = await this.pods.api.list<EventRecord>(events, { namespace: this.pods.namespace });
      return items.some((event) => event.involvedObject?.name === name && message.test(event.message ?? ''));
    });
  }

  /** Returns the violations that the driver saw on a claim's volume. */
  async violations(claim: string): Promise<Violation[]> {
    return await this.store.violations((await this.claimNow(claim)).spec.volumeName ?? '');
  }

  /** Returns the mount tables of both nodes. */
  nodeMounts(): Promise<string[][]> {
    return Promise.all(testCluster().nodes.map(({ machine }) => machine.mounts()));
  }
}
