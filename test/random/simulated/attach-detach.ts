import { isApiError } from '../../../src/kubernetes/client/api-error.ts';
import type { LocalApi } from '../../../embedded-cluster/api-server/local-api.ts';
import type { KubernetesObject } from '../../../src/kubernetes/object.ts';
import type { Node } from '../../../src/kubernetes/types/node.ts';
import type { Pod } from '../../../src/kubernetes/types/pod.ts';
import type { PersistentVolumeClaim } from '../../../src/kubernetes/types/storage.ts';
import { volumeAttachments } from '../../../src/cpi/disk/attach/volume-attachments.ts';
import { outOfServiceTaint } from '../../../src/cpi/objects/node-state.ts';
import { sha256 } from '../../../src/cpi/objects/names.ts';
import { type SimulatedNode, claimNamesOf } from './simulated-node.ts';
import type { Steps } from './steps.ts';

export const csiDriver = 'csi.random.example';

interface VolumeAttachment extends KubernetesObject {
  spec: { attacher: string; nodeName: string; source: { persistentVolumeName: string } };
}

/**
 * The attach-detach controller with a driver whose volumes only one node at a time can have (kubernetes:
 * pkg/controller/volume/attachdetach): a volume is detached if no pod of the node has it and its kubelet does
 * not report it as in use, or if the node is out of service.
 */
export class AttachDetach {
  readonly #api: LocalApi;
  readonly #nodes: readonly SimulatedNode[];

  constructor(api: LocalApi, nodes: readonly SimulatedNode[], steps: Steps) {
    this.#api = api;
    this.#nodes = nodes;
    void this.#work(steps);
  }

  isAttached(volume: string, node: string): boolean {
    return this.#attachments().some(
      ({ spec }) => spec.source.persistentVolumeName === volume && spec.nodeName === node,
    );
  }

  async #work(steps: Steps): Promise<never> {
    for (;;) {
      await steps.when('attach-detach controller', () => this.#next() !== undefined);
      await this.#next()?.();
    }
  }

  #next(): (() => Promise<unknown>) | undefined {
    const desired = this.#desired();
    const present = this.#attachments();
    const over = present.find(
      ({ spec: { nodeName, source } }) =>
        !desired.some(({ volume, node }) => volume === source.persistentVolumeName && node === nodeName) &&
        this.#mayDetach(source.persistentVolumeName, nodeName),
    );
    if (over !== undefined) return () => this.#remove(over);
    const missing = desired.find(
      ({ volume }) => !present.some(({ spec }) => spec.source.persistentVolumeName === volume),
    );
    return missing === undefined ? undefined : () => this.#create(missing.volume, missing.node);
  }

  #desired(): { readonly volume: string; readonly node: string }[] {
    const pods = this.#api.registry.store.list('pods') as unknown as Pod[];
    return pods
      .filter(({ status }) => status?.phase !== 'Failed' && status?.phase !== 'Succeeded')
      .flatMap((pod) =>
        claimNamesOf(pod).flatMap((name) => {
          const claim = this.#api.registry.store.get(
            'persistentvolumeclaims',
            pod.metadata.namespace,
            name,
          ) as PersistentVolumeClaim | undefined;
          const volume = claim?.status?.phase === 'Bound' ? claim.spec.volumeName : undefined;
          const node = pod.spec.nodeName;
          return volume === undefined || node === undefined ? [] : [{ volume, node }];
        }),
      );
  }

  #mayDetach(volume: string, nodeName: string): boolean {
    const node = this.#nodes.find(({ name }) => name === nodeName);
    const stored = this.#api.registry.store.get('nodes', undefined, nodeName) as Node | undefined;
    if (node === undefined || (stored?.spec?.taints ?? []).some(({ key }) => key === outOfServiceTaint))
      return true;
    // the last report counts for a node that does not answer
    return !node.isCutOff && !node.isDown && !node.isMounted(volume);
  }

  #attachments(): VolumeAttachment[] {
    return this.#api.registry.store.list('volumeattachments.storage.k8s.io') as unknown as VolumeAttachment[];
  }

  #create(volume: string, nodeName: string): Promise<VolumeAttachment> {
    return this.#api.create<VolumeAttachment>(volumeAttachments, {
      metadata: { name: `csi-${sha256(`${volume}${csiDriver}${nodeName}`)}` },
      spec: { attacher: csiDriver, nodeName, source: { persistentVolumeName: volume } },
    });
  }

  async #remove({ metadata: { name } }: VolumeAttachment): Promise<void> {
    try {
      await this.#api.delete({ resource: volumeAttachments, name });
    } catch (error) {
      if (!isApiError(error, 404)) throw error;
    }
  }
}
