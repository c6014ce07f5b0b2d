import { Controller } from '../../../src/kubernetes/controllers/controller.ts';
import type { Pod } from '../../../src/kubernetes/types/pod.ts';
import {
  persistentVolumeClaims,
  persistentVolumes,
  pods,
  volumeSnapshots,
} from '../../../src/kubernetes/resources.ts';
import {
  type PersistentVolumeClaim,
  type VolumeSnapshot,
  cloningFinalizer,
  snapshotFinalizers,
} from '../../../src/kubernetes/types/storage.ts';
import type { ControllerContext } from '../controller-context.ts';
import {
  addFinalizer,
  isBlockedBy,
  hasFinalizer,
  removeFinalizer,
} from '../../../src/kubernetes/controllers/conditional-writes.ts';
import { isTerminal, podClaims } from './pod-claims.ts';

const claimFinalizer = 'kubernetes.io/pvc-protection';
const volumeFinalizer = 'kubernetes.io/pv-protection';

/**
 * Keeps a claim that is being deleted while a pod uses it (kubernetes: pkg/controller/volume/pvcprotection).
 */
export class ClaimProtection extends Controller {
  readonly #informers: ControllerContext<'claims' | 'pods'>['informers'];
  readonly #api: ControllerContext<'claims' | 'pods'>['api'];

  constructor(context: ControllerContext<'claims' | 'pods'>) {
    super('claim-protection', context);
    this.#informers = context.informers;
    this.#api = context.api;
    const { informers } = context;

    this.watch(informers.claims);

    informers.pods.onChange(({ before, after }) => {
      const pod = after ?? before;
      if (pod !== undefined && (after === undefined || isTerminal(after))) {
        for (const { name } of podClaims(pod)) {
          this.queue.add(`${pod.metadata.namespace}/${name}`);
        }
      }
    });
  }

  protected override async reconcile(key: string): Promise<void> {
    const claim = this.#informers.claims.get(key);
    if (claim === undefined) {
      return;
    }
    if (claim.metadata.deletionTimestamp === undefined) {
      if (!hasFinalizer(claim, claimFinalizer)) {
        await addFinalizer(this.#api, persistentVolumeClaims, claim, claimFinalizer);
      }
      return;
    }
    if (hasFinalizer(claim, claimFinalizer) && !(await this.#isUsed(claim))) {
      await removeFinalizer(this.#api, persistentVolumeClaims, claim, claimFinalizer);
    }
  }

  /** Reads from the API server, not the cache: a pod that was just created must count. */
  #isUsed(claim: PersistentVolumeClaim): Promise<boolean> {
    const { namespace } = claim.metadata;
    return this.#api.anyMatch(pods, { namespace }, (pod) => usesClaim(pod as Pod, claim));
  }
}

/** Pods without a node do not count: no kubelet starts a pod whose claim is being deleted. */
function usesClaim(pod: Pod, claim: PersistentVolumeClaim): boolean {
  return (
    pod.spec.nodeName !== undefined &&
    pod.spec.nodeName !== '' &&
    !isTerminal(pod) &&
    podClaims(pod).some(({ name }) => name === claim.metadata.name)
  );
}

/**
 * Keeps a volume that is being deleted while it is bound (kubernetes: pkg/controller/volume/pvprotection).
 */
export class VolumeProtection extends Controller {
  readonly #informers: ControllerContext<'volumes'>['informers'];
  readonly #api: ControllerContext<'volumes'>['api'];

  constructor(context: ControllerContext<'volumes'>) {
    super('volume-protection', context);
    this.#informers = context.informers;
    this.#api = context.api;
    const { informers } = context;

    this.watch(informers.volumes);
  }

  protected override async reconcile(key: string): Promise<void> {
    const volume = this.#informers.volumes.get(key);
    if (volume === undefined) {
      return;
    }
    if (volume.metadata.deletionTimestamp === undefined && !hasFinalizer(volume, volumeFinalizer)) {
      await addFinalizer(this.#api, persistentVolumes, volume, volumeFinalizer);
      return;
    }
    if (isBlockedBy(volume, volumeFinalizer) && volume.status?.phase !== 'Bound') {
      await removeFinalizer(this.#api, persistentVolumes, volume, volumeFinalizer);
    }
  }
}

/**
 * Removes the finalizers of a claim that is copied: the clone-source finalizer once no clone of the claim is
 * pending (external-provisioner pkg/controller/clone_controller.go), and the snapshot finalizer once all
 * snapshots of it are ready or terminating (external-snapshotter pkg/common-controller,
 * checkandRemovePVCFinalizer).
 */
export class SourceProtection extends Controller {
  readonly #informers: ControllerContext<'claims' | 'snapshots'>['informers'];
  readonly #api: ControllerContext<'claims' | 'snapshots'>['api'];

  constructor(context: ControllerContext<'claims' | 'snapshots'>) {
    super('source-protection', context);
    this.#informers = context.informers;
    this.#api = context.api;
    const { informers } = context;

    informers.claims.onChange(({ key, before, after }) => {
      this.queue.add(key);
      const claim = after ?? before;
      if (claim?.spec.dataSourceRef?.kind === 'PersistentVolumeClaim') {
        this.queue.add(`${claim.metadata.namespace}/${claim.spec.dataSourceRef.name}`);
      }
    });

    informers.snapshots.onChange(({ before, after }) => {
      const snapshot = after ?? before;
      const name = snapshot?.spec.source.persistentVolumeClaimName;
      if (name !== undefined) {
        this.queue.add(`${snapshot?.metadata.namespace ?? ''}/${name}`);
      }
    });
  }

  protected override async reconcile(key: string): Promise<void> {
    const claim = this.#informers.claims.get(key);
    if (claim === undefined) {
      return;
    }
    if (hasFinalizer(claim, cloningFinalizer) && !(await this.#hasPendingClone(claim))) {
      await removeFinalizer(this.#api, persistentVolumeClaims, claim, cloningFinalizer);
    } else if (
      hasFinalizer(claim, snapshotFinalizers.claimIsSource) &&
      !(await this.#hasPendingSnapshot(claim))
    ) {
      await removeFinalizer(this.#api, persistentVolumeClaims, claim, snapshotFinalizers.claimIsSource);
    }
  }

  async #hasPendingSnapshot({ metadata }: PersistentVolumeClaim): Promise<boolean> {
    const { items } = await this.#api.list<VolumeSnapshot>(volumeSnapshots, {
      namespace: metadata.namespace,
    });
    return items.some(
      (snapshot) =>
        snapshot.spec.source.persistentVolumeClaimName === metadata.name &&
        snapshot.metadata.deletionTimestamp === undefined &&
        snapshot.status?.readyToUse !== true,
    );
  }

  /** Reads from the API server, not the cache: a stale cache must not cause data loss. */
  async #hasPendingClone({ metadata }: PersistentVolumeClaim): Promise<boolean> {
    const { items } = await this.#api.list<PersistentVolumeClaim>(persistentVolumeClaims, {
      namespace: metadata.namespace,
    });
    return items.some(
      ({ spec, status }) =>
        spec.dataSourceRef?.kind === 'PersistentVolumeClaim' &&
        spec.dataSourceRef.name === metadata.name &&
        status?.phase !== 'Bound',
    );
  }
}
