import type { Stored } from '../../../src/kubernetes/object.ts';
import { type EventRecorder, involved } from '../../../src/kubernetes/controllers/event-recorder.ts';
import { Controller } from '../../../src/kubernetes/controllers/controller.ts';
import { timestamp } from '../../../src/kubernetes/timestamp.ts';
import { isApiError } from '../../../src/kubernetes/client/api-error.ts';
import {
  persistentVolumeClaims,
  volumeSnapshotContents,
  volumeSnapshots,
} from '../../../src/kubernetes/resources.ts';
import {
  type VolumeSnapshot,
  type VolumeSnapshotClass,
  type VolumeSnapshotContent,
  snapshotFinalizers,
  snapshotAnnotations,
  type PersistentVolumeClaim,
  type PersistentVolume,
} from '../../../src/kubernetes/types/storage.ts';
import type { ControllerContext } from '../controller-context.ts';
import {
  addFinalizer,
  deleteSame,
  hasFinalizer,
  patchSameVersion,
} from '../../../src/kubernetes/controllers/conditional-writes.ts';
import { keyOf } from '../../../src/kubernetes/controllers/informer.ts';
import { ignoreNotFound } from '../../../src/kubernetes/api.ts';
import { formatBytes } from '../../../src/kubernetes/types/quantity.ts';
import { localProvisioner } from '../../api-server/bootstrap.ts';
import { isLocalVolume } from '../volumes/local-volume.ts';

const ownFinalizers = [snapshotFinalizers.snapshotIsSource, snapshotFinalizers.snapshotIsBound];
const retryMs = 5_000;

type Context = ControllerContext<'claims' | 'snapshotClasses' | 'snapshotContents' | 'snapshots' | 'volumes'>;

/**
 * Creates a content for each VolumeSnapshot, which the snapshot sidecar fills, and updates the snapshot's
 * status (external-snapshotter pkg/common-controller). A finalizer keeps its claim until the snapshot is
 * ready.
 */
export class SnapshotController extends Controller {
  readonly #informers: Context['informers'];
  readonly #api: Context['api'];
  readonly #clock: Context['clock'];
  readonly #recorder: EventRecorder;

  constructor(context: Context) {
    super('snapshot-controller', context);
    this.#informers = context.informers;
    this.#api = context.api;
    this.#clock = context.clock;
    const { informers } = context;
    this.#recorder = context.recorder('snapshot-controller');

    this.watch(informers.snapshots);

    informers.snapshotContents.onChange(({ before, after }) => {
      const reference = (after ?? before)?.spec.volumeSnapshotRef;
      this.queue.add(`${reference?.namespace ?? ''}/${reference?.name ?? ''}`);
    });

    for (const informer of [informers.claims, informers.snapshotClasses]) {
      informer.onChange(() => {
        for (const snapshot of informers.snapshots.list().filter(isRetryable)) {
          this.queue.add(keyOf(snapshot));
        }
      });
    }
  }

  protected override async reconcile(key: string): Promise<void> {
    const snapshot = this.#informers.snapshots.get(key);
    if (snapshot === undefined) return;
    if (snapshot.metadata.deletionTimestamp !== undefined) {
      await this.#delete(snapshot);
      return;
    }
    const missing = ownFinalizers.filter((finalizer) => !hasFinalizer(snapshot, finalizer));
    if (missing.length > 0) {
      const finalizers = [...(snapshot.metadata.finalizers ?? []), ...missing];
      await patchSameVersion(this.#api, volumeSnapshots, snapshot, { metadata: { finalizers } });
      return;
    }
    const content = this.#informers.snapshotContents.get(contentNameOf(snapshot));
    await (content === undefined ? this.#bindContent(snapshot) : this.#syncStatus(snapshot, content));
  }

  async #bindContent(snapshot: Stored<VolumeSnapshot>): Promise<void> {
    const name = snapshot.spec.source.persistentVolumeClaimName ?? '';
    const claim = this.#informers.claims.get(`${snapshot.metadata.namespace}/${name}`);
    const volume = this.#informers.volumes.get(claim?.spec.volumeName ?? '');
    const decision = decideSnapshot({
      snapshot,
      claim,
      volume,
      classes: this.#informers.snapshotClasses.list(),
    });
    switch (decision.kind) {
      case 'leave':
        return;
      case 'error':
        await this.#setError(snapshot, decision.message);
        this.queue.addAfter(keyOf(snapshot), retryMs);
        return;
      case 'take':
        if (claim !== undefined && !hasFinalizer(claim, snapshotFinalizers.claimIsSource)) {
          // The change of the claim adds this snapshot to the queue again.
          await addFinalizer(this.#api, persistentVolumeClaims, claim, snapshotFinalizers.claimIsSource);
          return;
        }
        await this.#createSnapshot(snapshot, decision.snapshotClass, decision.volumeName);
        return;
      default:
        decision satisfies never;
    }
  }

  async #createSnapshot(
    snapshot: Stored<VolumeSnapshot>,
    snapshotClass: VolumeSnapshotClass,
    volumeName: string,
  ): Promise<void> {
    const className = snapshotClass.metadata.name;
    if (snapshot.spec.volumeSnapshotClassName === undefined) {
      const spec = { volumeSnapshotClassName: className };
      await patchSameVersion(this.#api, volumeSnapshots, snapshot, { spec });
      return;
    }
    try {
      await this.#api.create(volumeSnapshotContents, contentOf(snapshot, snapshotClass, volumeName));
    } catch (error) {
      // The name contains the snapshot's uid, so an existing content is from an earlier try.
      if (!isApiError(error, 409, 'AlreadyExists')) throw error;
    }
  }

  async #syncStatus(snapshot: VolumeSnapshot, content: VolumeSnapshotContent): Promise<void> {
    const status = statusFrom(content);
    if (JSON.stringify(sortedStatus(snapshot.status)) !== JSON.stringify(sortedStatus(status))) {
      await patchSameVersion(
        this.#api,
        volumeSnapshots,
        snapshot,
        { status: { error: null, ...status } },
        'status',
      );
    }
  }

  async #setError(snapshot: VolumeSnapshot, message: string): Promise<void> {
    if (snapshot.status?.error?.message === message) return;
    const error = { message, time: timestamp(this.#clock.now()) };
    await patchSameVersion(
      this.#api,
      volumeSnapshots,
      snapshot,
      { status: { readyToUse: false, error } },
      'status',
    );
    this.#recorder.record(involved('VolumeSnapshot', snapshot, 'snapshot.storage.k8s.io/v1'), {
      type: 'Warning',
      reason: 'SnapshotContentCreationFailed',
      message,
    });
  }

  /**
   * Takes one step of the deletion of a snapshot. Waits while a claim is being restored from it. Deletes the
   * content first if the policy is Delete; with Retain the content remains unbound.
   */
  async #delete(snapshot: Stored<VolumeSnapshot>): Promise<void> {
    if (await this.#isSourceInUse(snapshot)) return;
    const content = await this.#findContent(snapshot);
    if (content !== undefined) {
      if (content.metadata.annotations?.[snapshotAnnotations.beingDeleted] !== 'yes') {
        const annotations = { [snapshotAnnotations.beingDeleted]: 'yes' };
        await patchSameVersion(this.#api, volumeSnapshotContents, content, { metadata: { annotations } });
        return;
      }
      if (content.spec.deletionPolicy === 'Delete') {
        if (content.metadata.deletionTimestamp === undefined)
          await deleteSame(this.#api, volumeSnapshotContents, content);
        // The end of the content adds this snapshot to the queue again.
        return;
      }
    }
    const { finalizers = [] } = snapshot.metadata;
    const own: readonly string[] = Object.values(snapshotFinalizers);
    const others = finalizers.filter((finalizer) => !own.includes(finalizer));
    if (others.length < finalizers.length) {
      await patchSameVersion(this.#api, volumeSnapshots, snapshot, { metadata: { finalizers: others } });
    }
  }

  /**
   * Reads from the API server, not the cache, as `#findContent` does: a stale cache must not cause data loss.
   */
  #isSourceInUse({ metadata: { namespace, name } }: VolumeSnapshot): Promise<boolean> {
    return this.#api.anyMatch(persistentVolumeClaims, { namespace }, (claim) => {
      const { spec, status } = claim as PersistentVolumeClaim;
      return (
        spec.dataSourceRef?.kind === 'VolumeSnapshot' &&
        spec.dataSourceRef.name === name &&
        status?.phase === 'Pending'
      );
    });
  }

  async #findContent(snapshot: Stored<VolumeSnapshot>): Promise<Stored<VolumeSnapshotContent> | undefined> {
    const name = contentNameOf(snapshot);
    const known = this.#informers.snapshotContents.get(name);
    return (
      known ??
      ignoreNotFound(this.#api.get<VolumeSnapshotContent>({ resource: volumeSnapshotContents, name }))
    );
  }
}

/**
 * Returns true if the snapshot is not ready yet, or is terminating, which may wait for a claim that is
 * restored from it.
 */
function isRetryable({ metadata, status }: VolumeSnapshot): boolean {
  return status?.readyToUse !== true || metadata.deletionTimestamp !== undefined;
}

const sortedStatus = (status: VolumeSnapshot['status']): unknown =>
  Object.entries(status ?? {}).toSorted(([one], [other]) => one.localeCompare(other));

interface SnapshotInput {
  readonly snapshot: VolumeSnapshot;
  readonly claim: PersistentVolumeClaim | undefined;
  readonly volume: PersistentVolume | undefined;
  readonly classes: readonly VolumeSnapshotClass[];
}

type SnapshotDecision =
  | { readonly kind: 'take'; readonly volumeName: string; readonly snapshotClass: VolumeSnapshotClass }
  /** No controller of this cluster serves the volume; a controller of another driver may. */
  | { readonly kind: 'leave' }
  | { readonly kind: 'error'; readonly message: string };

/**
 * Decides about a VolumeSnapshot that has no content yet (external-snapshotter pkg/common-controller). Pure.
 */
function decideSnapshot({ snapshot, claim, volume, classes }: SnapshotInput): SnapshotDecision {
  const { persistentVolumeClaimName: claimName, volumeSnapshotContentName } = snapshot.spec.source;
  if (claimName === undefined) {
    const content = volumeSnapshotContentName ?? '';
    return failed(`the embedded cluster does not bind content ${content} that it did not make`);
  }
  if (claim === undefined) return failed(`failed to get input parameters: PVC ${claimName} not found`);
  if (claim.status?.phase !== 'Bound' || volume === undefined) {
    return failed(`the PVC ${claimName} is not yet bound to a PV, will not attempt to take a snapshot`);
  }
  const named = snapshot.spec.volumeSnapshotClassName;
  if (!isLocalVolume(volume)) return { kind: 'leave' };
  const snapshotClass =
    named === undefined ? defaultClass(classes) : classes.find(({ metadata }) => metadata.name === named);
  if (snapshotClass === undefined) {
    return failed(
      named === undefined
        ? `cannot find default snapshot class for driver ${localProvisioner}`
        : `failed to retrieve snapshot class ${named}: not found`,
    );
  }
  if (snapshotClass.driver !== localProvisioner) {
    return failed(`snapshot class ${named ?? ''} is of driver ${snapshotClass.driver}`);
  }
  return { kind: 'take', volumeName: volume.metadata.name, snapshotClass };
}

/** Returns the default class of the local driver. Several defaults count as none, as upstream. */
function defaultClass(classes: readonly VolumeSnapshotClass[]): VolumeSnapshotClass | undefined {
  const defaults = classes.filter(
    ({ driver, metadata }) =>
      driver === localProvisioner && metadata.annotations?.[snapshotAnnotations.defaultClass] === 'true',
  );
  return defaults.length === 1 ? defaults[0] : undefined;
}

const failed = (message: string): SnapshotDecision => ({ kind: 'error', message });

/** Returns the name of the content of a snapshot. It is the same for each try. */
const contentNameOf = (snapshot: Stored<VolumeSnapshot>): string => `snapcontent-${snapshot.metadata.uid}`;

/** Returns the content object for a snapshot of a volume, already bound to the snapshot. Pure. */
function contentOf(
  snapshot: Stored<VolumeSnapshot>,
  snapshotClass: VolumeSnapshotClass,
  volumeName: string,
): VolumeSnapshotContent {
  const { name, namespace, uid } = snapshot.metadata;
  return {
    apiVersion: 'snapshot.storage.k8s.io/v1',
    kind: 'VolumeSnapshotContent',
    metadata: { name: contentNameOf(snapshot), finalizers: [snapshotFinalizers.contentIsBound] },
    spec: {
      volumeSnapshotRef: {
        apiVersion: 'snapshot.storage.k8s.io/v1',
        kind: 'VolumeSnapshot',
        ...{ namespace, name, uid },
      },
      deletionPolicy: snapshotClass.deletionPolicy,
      driver: snapshotClass.driver,
      volumeSnapshotClassName: snapshotClass.metadata.name,
      source: { volumeHandle: volumeName },
    },
  };
}

/**
 * Returns the status of a snapshot for the status of its content (external-snapshotter,
 * updateSnapshotStatus). Pure.
 */
function statusFrom({ metadata, status = {} }: VolumeSnapshotContent): VolumeSnapshot['status'] {
  const { creationTime, restoreSize, readyToUse = false, error } = status;
  return {
    boundVolumeSnapshotContentName: metadata.name,
    readyToUse,
    ...(creationTime !== undefined && { creationTime: timeOf(creationTime) }),
    ...(restoreSize !== undefined && { restoreSize: formatBytes(BigInt(restoreSize)) }),
    ...(error !== undefined && { error }),
  };
}

const timeOf = (nanoseconds: number): string =>
  `${new Date(nanoseconds / 1_000_000).toISOString().slice(0, 19)}Z`;
