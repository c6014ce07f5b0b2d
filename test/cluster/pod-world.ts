import { randomUUID } from 'node:crypto';
import type { Access } from '../../src/kubernetes/access/access.ts';
import { isApiError } from '../../src/kubernetes/client/api-error.ts';
import type { Resource } from '../../src/kubernetes/api.ts';
import type { KubernetesObject, ObjectList } from '../../src/kubernetes/object.ts';
import { openApi, type RestApi } from '../../src/kubernetes/client/rest-api.ts';
import { execInPod } from '../../src/kubernetes/client/exec.ts';
import type { Pod } from '../../src/kubernetes/types/pod.ts';
import { events, namespaces, pods, serviceAccounts } from '../../src/kubernetes/resources.ts';
import { waitFor, type WaitOptions } from '../../src/kubernetes/client/wait.ts';
import { until } from '../support/until.ts';
import { busyboxImage } from './image/images.ts';
import { clusterAccess } from './test-cluster.ts';

const deadlineMs = 180_000;

/** A namespace for a test in the cluster under test, and BusyBox pods in it. */
export class PodWorld {
  readonly access: Access;
  readonly api: RestApi;
  readonly namespace: string;

  private constructor(access: Access, api: RestApi, namespace: string) {
    this.access = access;
    this.api = api;
    this.namespace = namespace;
  }

  static async open(): Promise<PodWorld> {
    const access = await clusterAccess();
    const api = await openApi(access);
    const namespace = `test-${randomUUID().slice(0, 8)}`;
    await api.create(namespaces, { metadata: { name: namespace } });
    const world = new PodWorld(access, api, namespace);
    await world.until(serviceAccounts, 'default', (account) => (account === undefined ? undefined : true));
    return world;
  }

  /** Deletes the namespace and waits until all its objects are deleted. */
  async close(): Promise<void> {
    await this.api.delete({ resource: namespaces, name: this.namespace });
    await waitFor({
      api: this.api,
      reference: { resource: namespaces, name: this.namespace },
      condition: (found) => (found === undefined ? true : undefined),
      awaited: `namespace ${this.namespace} to be gone`,
      deadlineMs,
      describeState: (found) => JSON.stringify(found),
    });
    this.api.close();
  }

  /** Creates a pod that runs `script`, with additional fields for the pod's spec and its container. */
  async pod(
    name: string,
    { script = 'sleep 86400 & wait', spec = {}, container = {}, annotations = {} }: PodParts = {},
  ): Promise<Pod> {
    return this.api.create<Pod>(pods, {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name, namespace: this.namespace, annotations },
      spec: {
        terminationGracePeriodSeconds: 0,
        containers: [
          {
            name: 'main',
            image: busyboxImage,
            imagePullPolicy: 'Never',
            command: ['sh', '-c', script],
            ...container,
          },
        ],
        ...spec,
      },
    });
  }

  /** Waits until the pod's containers are ready and returns the pod. */
  ready(name: string): Promise<Pod> {
    return this.until<Pod, Pod>(pods, name, (pod) => {
      const ready = pod?.status?.conditions?.find(({ type }) => type === 'Ready');
      return ready?.status === 'True' ? pod : undefined;
    });
  }

  /** Deletes an object and waits until it is deleted. */
  async remove(resource: Resource, name: string): Promise<void> {
    const reference = { resource, namespace: this.namespace, name };
    try {
      await this.api.delete(reference);
    } catch (error) {
      if (!isApiError(error, 404)) throw error;
    }
    await this.until(resource, name, (found) => (found === undefined ? true : undefined));
  }

  /** Waits for a condition of one object in the namespace. */
  until<T extends KubernetesObject, R>(
    resource: Resource,
    name: string,
    condition: WaitOptions<T, R>['condition'],
  ): Promise<R> {
    return waitFor<T, R>({
      api: this.api,
      reference: { resource, namespace: resource.namespaced ? this.namespace : undefined, name },
      condition,
      awaited: `${resource.plural} ${name}`,
      deadlineMs,
      describeState: (last) => JSON.stringify(last),
    });
  }

  /** Returns the events about one object in the namespace. */
  events(name: string): Promise<ObjectList<PodEvent>> {
    const fieldSelector = `involvedObject.name=${name}`;
    return this.api.list<PodEvent>(events, { namespace: this.namespace, fieldSelector });
  }

  /** Polls until `attempt` returns a value. */
  eventually<T>(attempt: () => Promise<T | undefined>): Promise<T> {
    return until('a condition', attempt, deadlineMs);
  }

  /** Returns the output of a shell command in a pod. Rejects if the command fails. */
  async run(pod: string, script: string): Promise<string> {
    const command = ['/bin/sh', '-c', script];
    const { exitCode, stdout, stderr } = await execInPod(this.access, {
      ...{ namespace: this.namespace, pod, container: 'main', command, deadlineMs: 60_000 },
    });
    if (exitCode !== 0) throw new Error(`${script} in ${pod}: exit code ${exitCode}: ${stdout}${stderr}`);
    return stdout;
  }
}

interface PodEvent extends KubernetesObject {
  readonly message: string;
}

export interface PodParts {
  readonly script?: string;
  readonly spec?: object;
  readonly container?: object;
  readonly annotations?: Readonly<Record<string, string>>;
}
