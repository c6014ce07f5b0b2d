import type { KubernetesApi } from '../../src/kubernetes/api.ts';
import type { Node, Taint } from '../../src/kubernetes/types/node.ts';
import type { Pod, PodSpec, Toleration } from '../../src/kubernetes/types/pod.ts';
import { nodes, pods } from '../../src/kubernetes/resources.ts';
import { until } from '../support/until.ts';

/** The label that connects nodes and pods of one suite; each suite has its own value. */
const suiteLabel = 'bosh.cloudfoundry.org/contract';

/** Tolerations for a real cluster, which taints our nodes without a kubelet before the suite uses them. */
export const staying: readonly Toleration[] = ['not-ready', 'unreachable', 'network-unavailable'].map(
  (reason) => ({ key: `node.kubernetes.io/${reason}`, operator: 'Exists' }),
);

export interface NodeWishes {
  readonly labels?: Record<string, string>;
  readonly taints?: Taint[];
  readonly allocatable?: Record<string, string>;
}

/** Nodes and pods of one suite; the nodes have no kubelet, so pods bound to them stay Pending. */
export class ContractNodes {
  readonly #api: KubernetesApi;
  readonly #namespace: string;
  readonly #names = new Set<string>();

  constructor(api: KubernetesApi, namespace: string) {
    this.#api = api;
    this.#namespace = namespace;
  }

  nameOf(name: string): string {
    return `${this.#namespace}-${name}`;
  }

  /** Creates a node that is ready. `family` keeps the nodes of one test from the pods of another. */
  async addNode(
    family: string,
    name: string,
    { labels = {}, taints = [], allocatable = {} }: NodeWishes = {},
  ): Promise<string> {
    const full = this.nameOf(name);
    this.#names.add(full);
    await this.#api.create<Node>(nodes, {
      metadata: { name: full, labels: { [suiteLabel]: family, 'kubernetes.io/hostname': full, ...labels } },
      spec: { taints },
    });
    const resources = { cpu: '4', memory: '8Gi', pods: '110', 'ephemeral-storage': '100Gi', ...allocatable };
    const conditions = [{ type: 'Ready', status: 'True', reason: 'KubeletReady', message: 'contract' }];
    // a patch, because the controllers of a real cluster write to a new node at once
    await this.#api.patch<Node>(
      { resource: nodes, name: full },
      { status: { capacity: resources, allocatable: resources, conditions } },
      { subresource: 'status' },
    );
    return full;
  }

  async addPod(
    family: string,
    name: string,
    spec: Partial<PodSpec> = {},
    labels: Record<string, string> = {},
  ): Promise<Pod> {
    return this.#api.create<Pod>(pods, {
      metadata: { namespace: this.#namespace, name, labels },
      spec: {
        containers: [{ name: 'main', image: 'embedded.bosh-kubernetes/host-root:1' }],
        ...spec,
        nodeSelector: { [suiteLabel]: family, ...spec.nodeSelector },
        tolerations: [...staying, ...(spec.tolerations ?? [])],
      },
    });
  }

  pod(name: string): Promise<Pod> {
    return this.#api.get<Pod>({ resource: pods, namespace: this.#namespace, name });
  }

  /** Returns the short name of the pod's node. */
  async nodeOf(name: string): Promise<string> {
    const node = await until(`pod ${name} to have a node`, async () => (await this.pod(name)).spec.nodeName);
    return node.slice(this.#namespace.length + 1);
  }

  /** Returns the scheduler's message for a pod that fits on no node. */
  refusalOf(name: string): Promise<string> {
    return until(`pod ${name} to be refused`, async () => {
      const found = (await this.pod(name)).status?.conditions?.find(({ type }) => type === 'PodScheduled');
      return found?.status === 'False' ? found.message : undefined;
    });
  }

  async end(): Promise<void> {
    for (const name of this.#names) await this.#api.delete({ resource: nodes, name }).catch(() => undefined);
    const { items } = await this.#api.list<Pod>(pods, { namespace: this.#namespace });
    for (const {
      metadata: { name },
    } of items) {
      const reference = { resource: pods, namespace: this.#namespace, name };
      await this.#api.delete(reference, { gracePeriodSeconds: 0 }).catch(() => undefined);
    }
  }
}
