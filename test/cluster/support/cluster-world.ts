import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { createDisk } from '../../../src/cpi/disk/create-disk.ts';
import { deleteDisk } from '../../../src/cpi/disk/delete-disk.ts';
import type { CallContext, ExecResult } from '../../../src/cpi/call.ts';
import { parseConfig } from '../../../src/cpi/config/config.ts';
import { createVm } from '../../../src/cpi/vm/create-vm.ts';
import { deleteVm } from '../../../src/cpi/vm/delete-vm.ts';
import { isApiError } from '../../../src/kubernetes/client/api-error.ts';
import type { ObjectReference, Resource } from '../../../src/kubernetes/api.ts';
import { systemClock } from '../../../src/platform/clock.ts';
import { openApi, type RestApi } from '../../../src/kubernetes/client/rest-api.ts';
import type { Pod } from '../../../src/kubernetes/types/pod.ts';
import { execInPod, runScript } from '../../../src/kubernetes/client/exec.ts';
import type { Node } from '../../../src/kubernetes/types/node.ts';
import {
  namespaces,
  nodes,
  persistentVolumeClaims,
  pods,
  serviceAccounts,
} from '../../../src/kubernetes/resources.ts';
import { waitFor } from '../../../src/kubernetes/client/wait.ts';
import { until } from '../../support/until.ts';
import { runWell } from '../../support/run.ts';
import { AcknowledgedWrites } from './acknowledged-writes.ts';
import type { ClusterUnderTest, DiskClass, NodeUnderTest } from './cluster-under-test.ts';

export interface NewVm {
  readonly properties?: Readonly<Record<string, unknown>>;
  readonly networks?: Readonly<Record<string, unknown>>;
  /** The name of the VM's node. */
  readonly node?: string;
  readonly agentId?: string;
  readonly env?: Readonly<Record<string, unknown>>;
  readonly cloud?: CallContext;
  /** The cid of the stemcell. The default is the suite's stemcell, which runs VMs of any profile. */
  readonly image?: string;
}

/** A namespace of a real cluster, the CPI's methods in this process, and the nodes. */
export class ClusterWorld {
  readonly cluster: ClusterUnderTest;
  readonly api: RestApi;
  readonly namespace: string;
  readonly cloud: CallContext;
  readonly acknowledged = new AcknowledgedWrites();
  readonly #removals: (() => Promise<unknown>)[] = [];

  private constructor(cluster: ClusterUnderTest, api: RestApi, namespace: string) {
    this.cluster = cluster;
    this.api = api;
    this.namespace = namespace;
    this.cloud = this.cloudWith({});
  }

  static async open(cluster: ClusterUnderTest): Promise<ClusterWorld> {
    const api = await openApi(cluster.access);
    const namespace = `bosh-${randomUUID().slice(0, 8)}`;
    await api.create(namespaces, { metadata: { name: namespace } });
    const account = { resource: serviceAccounts, namespace, name: 'default' };
    await waitFor({
      ...{ api, reference: account, awaited: 'the default service account', deadlineMs: 120_000 },
      condition: (found) => (found === undefined ? undefined : true),
    });
    return new ClusterWorld(cluster, api, namespace);
  }

  /** Makes `close` also remove something that is not deleted with the namespace. */
  atClose(remove: () => Promise<unknown>): void {
    this.#removals.push(remove);
  }

  /** Removes what the tests left. The namespace is then deleted in the background. */
  async close(): Promise<void> {
    this.acknowledged.close();
    try {
      for (const cid of await this.#namesOf(pods, 'vm')) await deleteVm(this.cloud, { vmCid: cid });
      for (const cid of await this.#namesOf(persistentVolumeClaims, 'disk'))
        await deleteDisk(this.cloud, { diskCid: cid });
    } finally {
      for (const remove of this.#removals) await remove();
      await this.api.delete({ resource: namespaces, name: this.namespace });
      this.api.close();
      await this.cluster.close();
    }
  }

  async #namesOf(resource: Resource, kind: string): Promise<string[]> {
    const labelSelector = `bosh.cloudfoundry.org/kind=${kind}`;
    const { items } = await this.api.list(resource, { namespace: this.namespace, labelSelector });
    return items.flatMap(({ metadata: { name } }) => name ?? []);
  }

  /** Returns a CPI with these keys in the section `kubernetes` of its configuration. */
  cloudWith(
    keys: Readonly<Record<string, unknown>>,
    sections: Readonly<Record<string, unknown>> = {},
  ): CallContext {
    const { kubeletRootDirectory: kubelet } = this.cluster;
    const file = {
      kubernetes: { kubelet_root_dir: kubelet, ...keys },
      agent: { mbus: 'https://mbus:secret@0.0.0.0:6868' },
      deadlines: { release: 2 },
      ...sections,
    };
    const config = parseConfig(file, {});
    return {
      api: this.api,
      exec: ({ namespace = this.namespace, pod, container, command, deadlineMs }) =>
        runScript(this.cluster.access, { namespace, pod, container, command, deadlineMs }),
      config,
      namespace: this.namespace,
      diskNamespace: config.kubernetes.diskNamespace ?? this.namespace,
      clock: systemClock,
      newUuid: randomUUID,
      directorUuid: 'director-1',
      log: () => {},
      reportProgress: () => undefined,
    };
  }

  async newVm(vm: NewVm = {}): Promise<string> {
    const { agentId = randomUUID(), properties = {}, node, env = {}, cloud = this.cloud } = vm;
    const { image = this.cluster.stemcell.image } = vm;
    const networks = vm.networks ?? { default: { type: 'dynamic', cloud_properties: {} } };
    const selector = node === undefined ? {} : { node_selector: { 'kubernetes.io/hostname': node } };
    const all = { ...selector, ...properties };
    const [cid] = await createVm(cloud, {
      agentId,
      stemcellCid: image,
      cloudProperties: all,
      networks,
      diskCids: [],
      env,
    });
    return cid;
  }

  newDisk(storageClass: DiskClass = 'loop', size = 32, cloud: CallContext = this.cloud): Promise<string> {
    return createDisk(cloud, { sizeMiB: size, cloudProperties: this.diskProperties(storageClass) });
  }

  /** Returns the cloud_properties of a disk of that class. */
  diskProperties(storageClass: DiskClass): Record<string, unknown> {
    const name = this.cluster.storageClass(storageClass);
    return name === undefined ? {} : { storage_class: name };
  }

  /** Returns the arguments that run kubectl in this namespace. */
  kubectlCommand(args: readonly string[]): readonly string[] {
    return [...this.cluster.kubectl, '--namespace', this.namespace, ...args];
  }

  /** Returns the stdout of kubectl. Rejects if it fails. */
  kubectl(...args: readonly string[]): Promise<string> {
    return runWell(this.kubectlCommand(args));
  }

  pod(name: string): Promise<Pod> {
    return this.api.get<Pod>(this.podReference(name));
  }

  podReference(name: string, namespace: string = this.namespace): ObjectReference {
    return { resource: pods, namespace, name };
  }

  async isThere(reference: ObjectReference): Promise<boolean> {
    try {
      await this.api.get(reference);
      return true;
    } catch (error) {
      if (isApiError(error, 404)) return false;
      throw error;
    }
  }

  /** Waits until the pod is deleted and returns the seconds that this took. */
  async untilGone(pod: string, deadlineMs = 180_000): Promise<number> {
    const start = Date.now();
    const reference = this.podReference(pod);
    await until(`${pod} to go`, async () => !(await this.isThere(reference)), deadlineMs);
    return (Date.now() - start) / 1000;
  }

  /** Returns the node of a pod. */
  async nodeOf(pod: string): Promise<NodeUnderTest> {
    const { nodeName } = (await this.pod(pod)).spec;
    const node = this.cluster.nodes.find(({ name }) => name === nodeName);
    assert.ok(node !== undefined, `${pod} runs on no node of the suite`);
    return node;
  }

  async nodeNameOf(pod: string): Promise<string> {
    const { nodeName = '' } = (await this.pod(pod)).spec;
    return nodeName;
  }

  /** Returns the name of a schedulable node other than the pod's. */
  async otherNode(pod: string): Promise<string> {
    const own = await this.nodeNameOf(pod);
    const { items } = await this.api.list<Node>(nodes);
    const other = items.find(({ metadata, spec, status }) => {
      const isReady = status?.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True');
      const isOpen = (spec?.taints ?? []).every(({ effect }) => effect === 'PreferNoSchedule');
      return metadata.name !== own && isReady === true && isOpen;
    });
    assert.ok(other !== undefined, 'the cluster has one node that takes pods');
    return other.metadata.labels?.['kubernetes.io/hostname'] ?? other.metadata.name;
  }

  exec(pod: string, script: string): Promise<ExecResult> {
    const command = ['/bin/sh', '-c', script];
    return execInPod(this.cluster.access, {
      ...{ namespace: this.namespace, pod, container: 'bosh', command, deadlineMs: 120_000 },
    });
  }

  /** Returns the output of a shell command in a VM. Rejects if the command fails. */
  async inVm(vm: string, script: string): Promise<string> {
    const { exitCode, stdout, stderr } = await this.exec(vm, script);
    assert.equal(exitCode, 0, `${script}: ${stdout}${stderr}`);
    return stdout;
  }

  /** Polls a command in a VM until it succeeds. It fails for a while if the VM restarts. */
  async untilInVm(vm: string, script: string): Promise<string> {
    return until(
      `${script} in ${vm}`,
      async () => {
        try {
          const { exitCode, stdout } = await this.exec(vm, script);
          return exitCode === 0 ? { stdout } : undefined;
        } catch (error) {
          if (error instanceof Error) return undefined;
          throw error;
        }
      },
      120_000,
    ).then(({ stdout }) => stdout);
  }
}
