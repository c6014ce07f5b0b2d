import { ApiError, isApiError } from '../../kubernetes/client/api-error.ts';
import type { Resource } from '../../kubernetes/api.ts';
import type { ControlPlaneApi } from '../../../embedded-cluster/api-server/control-plane-api.ts';
import type { KubernetesObject, Stored } from '../../kubernetes/object.ts';
import type { ContainerStatus, Pod, PodStatus } from '../../kubernetes/types/pod.ts';
import { events, persistentVolumeClaims, pods, secrets } from '../../kubernetes/resources.ts';
import type { ExecCommand, ExecResult } from '../call.ts';
import { volumeAnnotations } from '../../kubernetes/types/storage.ts';
import { multus } from '../network/multus.ts';
import { bindExit } from '../disk/attach/scripts/hold.ts';
import { endUnlessBoundExit, releaseExit, mountFailedExit } from '../disk/attach/scripts/volume-functions.ts';
import { annotation, label } from '../objects/labels.ts';

export const nodeName = 'embedded';
export const brokenImage = 'registry.example/broken:1';

/**
 * Scheduler, kubelet and the controllers that CPI methods wait for, in one class. It reacts to objects of all
 * namespaces and runs nothing.
 */
export class FakeNode {
  /** Disks that a process in the VM uses: their attachment pods do not end. */
  readonly busyDisks = new Set<string>();
  /** Disks that the CPI had an attachment pod release and not bind again. */
  readonly releasedDisks = new Set<string>();
  /**
   * By the uid of an attachment pod: the mark of the attach_disk that mounted its disk, `released` after a
   * release.
   */
  readonly #mounted = new Map<string, number | 'released'>();
  /** Disks that are mounted in their VM though no container of their attachment pod runs. */
  readonly leftMounts = new Set<string>();
  /** VMs whose jobs do not stop yet: their pods do not end. */
  readonly stoppingVms = new Set<string>();
  /** Disks whose bind step fails, with its message. */
  readonly brokenDisks = new Map<string, string>();
  /** Terminating claims of disks stay, as if a pod used them. */
  keepsClaims = false;
  /** Disks that no node of a VM can reach: a pod with such a volume is not scheduled. */
  readonly farDisks = new Set<string>();
  /** If set, no pod is scheduled, with this message. */
  unschedulable: string | undefined;
  /** If set, the address annotation is ignored: every pod gets this address. */
  ownAddress: string | undefined;
  /**
   * If set, Multus runs: further interfaces get the addresses that they request (`as asked`), or this
   * address.
   */
  multus: string | undefined;
  /** If set, the sandbox of a VM cannot be made, with this message. */
  sandboxTrouble: string | undefined;
  /** The sandbox of a VM was made, perhaps at the second attempt, and its image is being pulled. */
  isPulling = false;
  readonly #api: ControlPlaneApi;
  readonly #stop = new AbortController();
  readonly #loops: Promise<void>[];
  #addresses = 0;

  constructor(api: ControlPlaneApi) {
    this.#api = api;
    this.#loops = [
      this.#follow(pods, (pod) => this.#syncPod(pod as Stored<Pod>)),
      this.#follow(persistentVolumeClaims, (claim) => this.#syncClaim(claim)),
      this.#collect(),
    ];
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await Promise.all(this.#loops);
  }

  /**
   * `exec` of a CallContext, for the commands of attachment pods and of VMs whose disks are volumes of their
   * pods.
   */
  readonly exec = async ({ namespace = 'bosh', pod, command }: ExecCommand): Promise<ExecResult> => {
    const { status, metadata } = await this.#api.get<Pod>({ resource: pods, namespace, name: pod });
    if (status?.phase === 'Failed') throw noContainer(pod);
    const [, , , script = '', diskCid = '', , uid = ''] = command;
    if (!['bind', 'release', 'end-unless-bound'].includes(script)) return this.#run(script, diskCid);
    if (uid !== metadata.uid)
      return { exitCode: 1, stdout: '', stderr: 'another attachment has that name by now' };
    const mark = Number(command.at(-1));
    if (script === 'bind') return ended(this.#bind(diskCid, uid, mark));
    const boundBy = this.#boundBy(uid);
    if (script === 'end-unless-bound') return ended(boundBy === 0 ? 0 : endUnlessBoundExit.bound);
    if (boundBy > mark) return ended(releaseExit.attachedAgain);
    const outcome = this.#run(script, diskCid);
    if (outcome.exitCode === 0) this.#mounted.set(uid, 'released');
    return outcome;
  };

  /**
   * Returns the mark of the attach_disk that mounted the disk; 0: the attachment pod has mounted nothing, or
   * has released it.
   */
  #boundBy(uid: string): number {
    const mounted = this.#mounted.get(uid);
    return typeof mounted === 'number' ? mounted : 0;
  }

  #bind(diskCid: string, uid: string, mark: number): number {
    const before = this.#mounted.get(uid) ?? 0;
    if (before === 'released') return bindExit.released;
    this.#mounted.set(uid, Math.max(before, mark));
    this.releasedDisks.delete(diskCid);
    return 0;
  }

  #run(script: string, diskCid: string): ExecResult {
    // a mount in a hub ends with its attachment pod here: no test on this node deletes a pod that cannot
    // unmount
    if (script === 'is-mounted') return ended(this.leftMounts.has(diskCid) ? 0 : 1);
    const isBusy = this.busyDisks.has(diskCid);
    if (!isBusy && script === 'release') this.releasedDisks.add(diskCid);
    return {
      exitCode: isBusy ? 16 : 0,
      stdout: isBusy ? 'process 7 has it mounted at /var/vcap/store\n.\n' : '',
      stderr: '',
    };
  }

  /** Ends the use of a disk, so that what waits for this continues. */
  async release(diskCid: string): Promise<void> {
    this.busyDisks.delete(diskCid);
    await this.#reconcile();
  }

  /** Lets the jobs of that VM stop. */
  async letStop(vm: string): Promise<void> {
    this.stoppingVms.delete(vm);
    await this.#reconcile();
  }

  /** Makes pods schedulable again. */
  async makeRoom(): Promise<void> {
    this.unschedulable = undefined;
    await this.#reconcile();
  }

  async #reconcile(): Promise<void> {
    const { items } = await this.#api.list<Pod>(pods);
    for (const pod of items) await this.#guarded(pod, (each) => this.#syncPod(each));
  }

  async #follow(resource: Resource, sync: (object: KubernetesObject) => Promise<void>): Promise<void> {
    for await (const event of this.#api.watch(resource, { signal: this.#stop.signal })) {
      if (event.type === 'ADDED' || event.type === 'MODIFIED') await this.#guarded(event.object, sync);
    }
  }

  /** Deletes the claims of a VM with the Secret that owns them. */
  async #collect(): Promise<void> {
    for await (const event of this.#api.watch(secrets, { signal: this.#stop.signal })) {
      if (event.type !== 'DELETED') continue;
      const { items } = await this.#api.list(persistentVolumeClaims);
      for (const claim of items) {
        const { name, namespace, ownerReferences = [] } = claim.metadata;
        if (ownerReferences[0]?.uid !== event.object.metadata.uid) continue;
        await this.#guarded(claim, () =>
          this.#api.delete({ resource: persistentVolumeClaims, namespace, name }),
        );
      }
    }
  }

  /**
   * Ignores conflicts: an object that was changed or deleted in the meantime arrives again as an event, or
   * does not exist anymore.
   */
  async #guarded<T>(object: T, sync: (object: T) => Promise<unknown>): Promise<void> {
    try {
      await sync(object);
    } catch (error) {
      if (!isApiError(error, 404) && !isApiError(error, 409)) throw error;
    }
  }

  async #syncPod(pod: Stored<Pod>): Promise<void> {
    const { name, namespace, deletionTimestamp } = pod.metadata;
    const reference = { resource: pods, namespace, name };
    if (deletionTimestamp !== undefined) {
      if (await this.#isHeld(pod)) return;
      await this.#api.delete(reference, { gracePeriodSeconds: 0 });
      await this.#reconcile();
    } else if (pod.spec.schedulingGates !== undefined) {
      return;
    } else if (pod.spec.nodeName === undefined) {
      const trouble = this.unschedulable ?? this.#farDisk(pod);
      if (trouble === undefined) {
        await this.#selectNode(pod);
        await this.#api.bindPod(namespace, name, nodeName);
      } else await this.#setStatus(pod, unscheduledStatus(trouble));
    } else {
      await this.#attachNetworks(pod);
      await this.#setStatus(pod, this.#statusOf(pod));
    }
    if (this.sandboxTrouble !== undefined)
      await this.#event(pod, 'FailedCreatePodSandBox', this.sandboxTrouble);
  }

  /** Sets the annotation that a scheduler sets on claims that wait for their first consumer. */
  async #selectNode(pod: Pod): Promise<void> {
    for (const { persistentVolumeClaim: volume } of pod.spec.volumes ?? []) {
      if (volume === undefined) continue;
      const annotations = { [volumeAnnotations.selectedNode]: nodeName };
      const { namespace } = pod.metadata;
      const reference = { resource: persistentVolumeClaims, namespace, name: volume.claimName };
      await this.#guarded(reference, (claim) => this.#api.patch(claim, { metadata: { annotations } }));
    }
  }

  async #attachNetworks({ metadata: { name, namespace, annotations = {} } }: Pod): Promise<void> {
    const asked = annotations[multus.networks];
    if (this.multus === undefined || asked === undefined || annotations[multus.status] !== undefined) return;
    const elements = JSON.parse(asked) as { name: string; namespace: string; ips?: string[] }[];
    const status = elements.map((element, index) => ({
      name: `${element.namespace}/${element.name}`,
      interface: `net${index + 1}`,
      ips:
        this.multus === 'as asked' ? (element.ips ?? []).map((ip) => ip.replace(/\/.*/u, '')) : [this.multus],
    }));
    const patch = { metadata: { annotations: { [multus.status]: JSON.stringify(status) } } };
    await this.#api.patch({ resource: pods, namespace, name }, patch);
  }

  async #setStatus(pod: Pod, status: PodStatus): Promise<void> {
    const { name, namespace } = pod.metadata;
    const isSaid =
      pod.status?.phase === 'Failed' ||
      pod.status?.containerStatuses !== undefined ||
      pod.status?.initContainerStatuses !== undefined ||
      (status.containerStatuses === undefined &&
        status.conditions !== undefined &&
        pod.status?.conditions?.[0]?.reason === status.conditions[0]?.reason);
    if (isSaid) return;
    await this.#api.patch({ resource: pods, namespace, name }, { status }, { subresource: 'status' });
  }

  /**
   * Returns whether the pod cannot end yet: a VM's hub is busy while an attachment pod has a disk in it, and
   * an attachment pod stays while its disk is used.
   */
  async #isHeld(pod: Pod): Promise<boolean> {
    const { labels = {}, name } = pod.metadata;
    if (this.stoppingVms.has(name ?? '')) return true;
    if (labels[label.kind] === 'attachment') {
      const { items } = await this.#api.list<Pod>(pods);
      const vm = items.find(({ metadata }) => metadata.name === labels[label.vmId]);
      const isVmAlive = vm !== undefined && vm.metadata.deletionTimestamp === undefined;
      return isVmAlive && this.busyDisks.has(labels[label.diskId] ?? '');
    }
    const { items } = await this.#api.list<Pod>(pods);
    return items.some(
      ({ metadata }) =>
        metadata.labels?.[label.kind] === 'attachment' && metadata.labels[label.vmId] === name,
    );
  }

  #statusOf(pod: Pod): PodStatus {
    const { name = '', image = '' } = pod.spec.containers[0] ?? {};
    const container = { name, image, imageID: '', restartCount: 0, ready: false };
    const troubled = this.#troubledStatus(pod, container);
    if (troubled !== undefined) return troubled;
    this.#addresses += 1;
    const free = `127.64.1.${this.#addresses}`;
    const { [annotation.ipAddress]: asked = free } = pod.metadata.annotations ?? {};
    const address = pod.spec.hostNetwork === true ? '127.0.0.1' : asked;
    const [podIP = '', ...others] = (this.ownAddress ?? address).split(',');
    const state = { running: { startedAt: '2026-01-01T00:00:00Z' } };
    return {
      phase: 'Running',
      podIP,
      podIPs: [podIP, ...others].map((ip) => ({ ip })),
      containerStatuses: [{ ...container, ready: true, started: true, state }],
    };
  }

  /** Returns the status of a pod whose sandbox, image or disk a test has made fail. */
  #troubledStatus(pod: Pod, container: ContainerStatus): PodStatus | undefined {
    const { labels = {} } = pod.metadata;
    const { image } = container;
    if (this.sandboxTrouble !== undefined || this.isPulling) {
      const state = { waiting: { reason: 'ContainerCreating' } };
      const made = { type: 'PodReadyToStartContainers', status: 'True' } as const;
      return {
        phase: 'Pending',
        ...(this.isPulling && { conditions: [made] }),
        containerStatuses: [{ ...container, state }],
      };
    }
    if (image === brokenImage) {
      const state = { waiting: { reason: 'ImagePullBackOff', message: `no such image ${image}` } };
      return { phase: 'Pending', containerStatuses: [{ ...container, state }] };
    }
    const broken = this.brokenDisks.get(labels[label.diskId] ?? '');
    const brokenVolume = pod.spec.volumes?.map(({ name }) => this.brokenDisks.get(name)).find(Boolean);
    if (brokenVolume !== undefined && labels[label.kind] === 'vm') {
      const waiting = { reason: 'CrashLoopBackOff', message: brokenVolume };
      return {
        phase: 'Pending',
        initContainerStatuses: [{ ...container, name: 'prepare', state: { waiting } }],
      };
    }
    if (broken !== undefined) {
      const state = { terminated: { exitCode: mountFailedExit, message: `${broken}\n` } };
      return { phase: 'Running', containerStatuses: [{ ...container, state }] };
    }
    return undefined;
  }

  #farDisk({ spec }: Pod): string | undefined {
    const far = spec.volumes?.find(({ name }) => this.farDisks.has(name));
    return far === undefined ? undefined : 'volume node affinity conflict';
  }

  async #syncClaim(claim: KubernetesObject): Promise<void> {
    const { name, namespace, deletionTimestamp, finalizers = [] } = claim.metadata;
    const others = finalizers.filter((finalizer) => finalizer !== 'kubernetes.io/pvc-protection');
    if (deletionTimestamp === undefined || others.length === finalizers.length) return;
    if (this.keepsClaims && claim.metadata.labels?.[label.kind] === 'disk') return;
    const reference = { resource: persistentVolumeClaims, namespace, name };
    await this.#api.patch(reference, { metadata: { finalizers: others } });
  }

  async #event(pod: Stored<Pod>, reason: string, message: string): Promise<void> {
    const { name, namespace, uid } = pod.metadata;
    await this.#api.create(events, {
      metadata: { name: `${name}.${reason.toLowerCase()}`, namespace },
      involvedObject: { kind: 'Pod', apiVersion: 'v1', namespace, name, uid },
      reason,
      message,
      type: 'Warning',
    } as KubernetesObject);
  }
}

const ended = (exitCode: number): ExecResult => ({ exitCode, stdout: '', stderr: '' });

/** Returns the error with which an API server answers if the kubelet has ended the pod. */
function noContainer(pod: string): ApiError {
  const words = { code: 404, reason: 'NotFound', message: `container not found in pod ${pod}` };
  return new ApiError({ kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', ...words });
}

function unscheduledStatus(message: string): PodStatus {
  return {
    phase: 'Pending',
    conditions: [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message }],
  };
}
