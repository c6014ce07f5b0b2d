import type { Stored } from '../../../src/kubernetes/object.ts';
import { Controller } from '../../../src/kubernetes/controllers/controller.ts';
import { timestamp } from '../../../src/kubernetes/timestamp.ts';
import { volumeSnapshotContents } from '../../../src/kubernetes/resources.ts';
import {
  type VolumeSnapshotContent,
  snapshotAnnotations,
  snapshotFinalizers,
} from '../../../src/kubernetes/types/storage.ts';
import { localProvisioner } from '../../api-server/bootstrap.ts';
import { sizeOf } from '../volumes/data-source.ts';
import type { ControllerContext } from '../controller-context.ts';
import {
  isBlockedBy,
  patchSameVersion,
  removeFinalizer,
} from '../../../src/kubernetes/controllers/conditional-writes.ts';

type Context = ControllerContext<'snapshotContents' | 'snapshots' | 'volumes'>;

/**
 * Takes and removes the snapshots of volumes of class `local` (external-snapshotter pkg/sidecar-controller),
 * as a driver does in a real cluster. It has its own queue, because copies take long. The data is deleted
 * with its content only if the policy is Delete.
 */
export class SnapshotSidecar extends Controller {
  readonly #informers: Context['informers'];
  readonly #provisioner: Context['provisioner'];
  readonly #clock: Context['clock'];
  readonly #api: Context['api'];

  constructor(context: Context) {
    super('snapshot-taker', context);
    this.#informers = context.informers;
    this.#provisioner = context.provisioner;
    this.#clock = context.clock;
    this.#api = context.api;
    const { informers } = context;

    this.watch(informers.snapshotContents);
  }

  protected override async reconcile(name: string): Promise<void> {
    const content = this.#informers.snapshotContents.get(name);
    if (content === undefined || content.spec.driver !== localProvisioner) return;
    if (content.metadata.deletionTimestamp !== undefined) {
      await this.#finish(content);
    } else if (content.status?.readyToUse !== true && content.spec.source.volumeHandle !== undefined) {
      await this.#take(content, content.spec.source.volumeHandle);
    }
  }

  async #take(content: Stored<VolumeSnapshotContent>, volumeName: string): Promise<void> {
    const handle = handleOf(content);
    try {
      await this.#provisioner.takeSnapshot(handle, volumeName);
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      await this.#updateStatus(content, {
        error: { message, time: timestamp(this.#clock.now()) },
        readyToUse: false,
      });
      throw error;
    }
    const capacity = sizeOf(this.#informers.volumes.get(volumeName)?.spec.capacity?.['storage']);
    await this.#updateStatus(content, {
      snapshotHandle: handle,
      creationTime: nanoseconds(this.#clock.now()),
      readyToUse: true,
      restoreSize: Number(capacity),
      error: null,
    });
  }

  async #updateStatus(content: VolumeSnapshotContent, status: Record<string, unknown>): Promise<void> {
    await patchSameVersion(this.#api, volumeSnapshotContents, content, { status }, 'status');
  }

  async #finish(content: Stored<VolumeSnapshotContent>): Promise<void> {
    const { annotations = {} } = content.metadata;
    // A content that is deleted while its snapshot is not being deleted waits until the snapshot ends.
    const isReleased =
      annotations[snapshotAnnotations.beingDeleted] === 'yes' ||
      this.#informers.snapshots.get(ownerKey(content)) === undefined;
    if (!isReleased || !isBlockedBy(content, snapshotFinalizers.contentIsBound)) return;
    if (content.spec.deletionPolicy === 'Delete') await this.#provisioner.removeSnapshot(handleOf(content));
    await removeFinalizer(this.#api, volumeSnapshotContents, content, snapshotFinalizers.contentIsBound);
  }
}

const ownerKey = ({ spec: { volumeSnapshotRef } }: VolumeSnapshotContent): string =>
  `${volumeSnapshotRef.namespace}/${volumeSnapshotRef.name}`;

const nanosecondsPerMillisecond = 1_000_000;

/** Returns the handle of a content's data, which names its directory. It is the same for each try. */
const handleOf = (content: Stored<VolumeSnapshotContent>): string => `snap-${content.metadata.uid}`;

const nanoseconds = (milliseconds: number): number => milliseconds * nanosecondsPerMillisecond;
