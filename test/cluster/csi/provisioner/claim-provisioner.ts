import * as resources from '../../../../src/kubernetes/resources.ts';
import type { EventRecorder } from '../../../../embedded-cluster/controllers/runtime/event-recorder.ts';
import type { Informer } from '../../../../embedded-cluster/controllers/runtime/informer.ts';
import {
  WorkQueue,
  type ControllerRuntime,
} from '../../../../embedded-cluster/controllers/runtime/work-queue.ts';
import { isApiError } from '../../../../src/kubernetes/client/api-error.ts';
import type { KubernetesApi } from '../../../../src/kubernetes/api.ts';
import type { Node } from '../../../../src/kubernetes/types/node.ts';
import {
  type AccessMode,
  type PersistentVolumeClaim,
  type StorageClass,
  type VolumeAttributesClass,
  volumeAnnotations,
} from '../../../../src/kubernetes/types/storage.ts';
import { zoneKeyOf, type Driver } from '../drivers.ts';
import type { CsiClient } from '../grpc/client.ts';
import type { AccessModeName, CsiVolume, TopologyRequirement } from '../grpc/messages.ts';
import { isToProvision } from './claim-decision.ts';
import { claimSource, requestOf } from './claim-source.ts';
import { volumeNameOf, volumeObject } from './volume-object.ts';

export interface ProvisionerContext extends ControllerRuntime {
  readonly api: KubernetesApi;
  readonly driver: Driver;
  /** The client of the driver's controller service. */
  readonly controller: CsiClient;
  readonly recorder: EventRecorder;
  readonly claims: Informer<PersistentVolumeClaim>;
  readonly classes: Informer<StorageClass>;
}

const modes: Readonly<Record<AccessMode, AccessModeName>> = {
  ReadWriteOnce: 'SINGLE_NODE_MULTI_WRITER',
  ReadWriteOncePod: 'SINGLE_NODE_SINGLE_WRITER',
  ReadOnlyMany: 'MULTI_NODE_READER_ONLY',
  ReadWriteMany: 'MULTI_NODE_MULTI_WRITER',
};

/**
 * Creates volumes for the claims of one driver: first at the driver, then the object. Both are named after
 * the claim's uid, so that each step can be repeated. A failure is reported as an event on the claim, and the
 * claim is tried again.
 */
export function createClaimProvisioner(context: ProvisionerContext): WorkQueue {
  const { api, driver, controller, claims, classes, recorder } = context;
  const queue = new WorkQueue(`provisioner of ${driver.name}`, reconcile, context);

  claims.onChange(({ key }) => {
    queue.add(key);
  });
  classes.onChange(() => {
    for (const { metadata } of claims.list()) queue.add(`${metadata.namespace ?? ''}/${metadata.name ?? ''}`);
  });

  async function reconcile(key: string): Promise<void> {
    const claim = claims.get(key);
    const storageClass = classes.get(claim?.spec.storageClassName ?? '');
    if (claim === undefined || !isToProvision(claim, storageClass, driver.name) || storageClass === undefined)
      return;
    try {
      const volume = await makeVolume(claim, storageClass);
      await createObject(claim, storageClass, volume);
      record(claim, 'ProvisioningSucceeded', `Successfully provisioned volume ${volumeNameOf(claim)}`);
    } catch (error) {
      const cause = error instanceof Error ? error.message : String(error);
      const name = storageClass.metadata.name ?? '';
      record(claim, 'ProvisioningFailed', `failed to provision volume with StorageClass "${name}": ${cause}`);
      throw error;
    }
  }

  async function makeVolume(claim: PersistentVolumeClaim, storageClass: StorageClass): Promise<CsiVolume> {
    const source = await claimSource(api, claim, driver.name);
    const topology = driver.isZonal ? await topologyOf(claim) : undefined;
    const fsMode = claim.spec.volumeMode === 'Block' ? { block: {} } : { mount: { fsType: 'ext4' } };
    const { volume } = await controller.call<{ volume: CsiVolume }>('CreateVolume', {
      name: volumeNameOf(claim),
      capacityRange: { requiredBytes: String(requestOf(claim)) },
      volumeCapabilities: (claim.spec.accessModes ?? ['ReadWriteOnce']).map((mode) => ({
        ...fsMode,
        accessMode: { mode: modes[mode] },
      })),
      parameters: storageClass.parameters ?? {},
      mutableParameters: await attributesOf(claim),
      ...(source !== undefined && { volumeContentSource: source }),
      ...(topology !== undefined && { accessibilityRequirements: topology }),
    });
    return volume;
  }

  async function attributesOf(claim: PersistentVolumeClaim): Promise<Record<string, string>> {
    const name = claim.spec.volumeAttributesClassName ?? '';
    if (name === '') return {};
    const attributes = await api.get<VolumeAttributesClass>({
      resource: resources.volumeAttributesClasses,
      name,
    });
    return attributes.parameters ?? {};
  }

  /**
   * Returns the zone of the node that the scheduler chose, or without a choice the zones of all nodes that
   * the driver runs on.
   */
  async function topologyOf(claim: PersistentVolumeClaim): Promise<TopologyRequirement> {
    const key = zoneKeyOf(driver);
    const chosen = claim.metadata.annotations?.[volumeAnnotations.selectedNode];
    const { items } = await api.list<Node>(resources.nodes);
    const zones = items
      .filter(({ metadata }) => chosen === undefined || metadata.name === chosen)
      .map(({ metadata }) => metadata.labels?.[key])
      .filter((zone) => zone !== undefined);
    return { preferred: [...new Set(zones)].toSorted().map((zone) => ({ segments: { [key]: zone } })) };
  }

  async function createObject(
    claim: PersistentVolumeClaim,
    storageClass: StorageClass,
    volume: CsiVolume,
  ): Promise<void> {
    const object = volumeObject({ driverName: driver.name, claim, storageClass, volume });
    try {
      await api.create(resources.persistentVolumes, object);
    } catch (error) {
      // An existing object with that name was created by an earlier attempt.
      if (!isApiError(error, 409, 'AlreadyExists')) throw error;
    }
  }

  function record(claim: PersistentVolumeClaim, reason: string, message: string): void {
    const type = reason === 'ProvisioningSucceeded' ? 'Normal' : 'Warning';
    const subject = { kind: 'PersistentVolumeClaim', apiVersion: 'v1', object: claim };
    recorder.record(subject, { type, reason, message });
  }

  return queue;
}
