import assert from 'node:assert/strict';
import * as resources from '../../../src/kubernetes/resources.ts';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { isApiError } from '../../../src/kubernetes/client/api-error.ts';
import type { ObjectReference, Resource } from '../../../src/kubernetes/api.ts';
import type { KubernetesObject } from '../../../src/kubernetes/object.ts';
import type { Pod } from '../../../src/kubernetes/types/pod.ts';
import type { EventRecord } from '../../../src/kubernetes/describe-pod.ts';
import { ManualClock } from '../../../src/kubernetes/testing/manual-clock.ts';
import type { ControlPlaneApi } from '../../api-server/control-plane-api.ts';
import { hostRootImage } from '../../node/node-object.ts';
import type { VolumeProvisioner, VolumeSource } from '../../node/volume-provisioner.ts';
import { openLocalApi } from '../../api-server/local-api.ts';
import { startControllers } from '../start-controllers.ts';

/** Records which volumes exist; `busy` ones cannot be removed, like those of the node that are in use. */
export class FakeProvisioner implements VolumeProvisioner {
  readonly volumes = new Set<string>();
  /** The sources of copied volumes and snapshots, by the names of the copies. */
  readonly sources = new Map<string, string>();
  readonly snapshots = new Set<string>();
  readonly modified = new Map<string, Readonly<Record<string, string>>>();
  readonly busy = new Set<string>();
  broken = false;

  async provision(volumeName: string, source?: VolumeSource): Promise<string> {
    await turn();
    if (this.broken) {
      throw new Error('no space left on device');
    }
    if (source !== undefined) {
      const [from, known] =
        'volume' in source ? [source.volume, this.volumes] : [source.snapshot, this.snapshots];
      assert.ok(known.has(from), `${from} is there while it is copied`);
      this.sources.set(volumeName, from);
    }
    this.volumes.add(volumeName);
    return `/cluster/volumes/${volumeName}`;
  }

  async remove(volumeName: string): Promise<void> {
    await turn();
    if (this.busy.has(volumeName)) {
      throw new Error(`volume ${volumeName} is kept: process 7 has it mounted`);
    }
    this.volumes.delete(volumeName);
  }

  async takeSnapshot(handle: string, volumeName: string): Promise<void> {
    await turn();
    if (this.busy.has(volumeName)) {
      throw new Error(`${volumeName} cannot be copied: something writes to it all the time`);
    }
    assert.ok(this.volumes.has(volumeName));
    this.snapshots.add(handle);
    this.sources.set(handle, volumeName);
  }

  async removeSnapshot(handle: string): Promise<void> {
    await turn();
    this.snapshots.delete(handle);
  }

  async modify(volumeName: string, parameters: Readonly<Record<string, string>>): Promise<void> {
    await turn();
    this.modified.set(volumeName, parameters);
  }
}

const writes = [
  'create',
  'replace',
  'patch',
  'delete',
  'bindPod',
  'finalizeNamespace',
  'provision',
  'remove',
  'takeSnapshot',
  'removeSnapshot',
  'modify',
];

/** Kills controllers at a chosen write: before it is done, or before its result arrives. */
export class CrashInjector {
  readonly #moment: 'before' | 'after';
  #remaining: number;
  #killed = false;

  constructor(moment: 'before' | 'after', writesToLive: number) {
    this.#moment = moment;
    this.#remaining = writesToLive;
  }

  get isDead(): boolean {
    return this.#remaining < 0;
  }

  /** True if the chosen write was reached. */
  get wasKilled(): boolean {
    return this.#killed;
  }

  revive(): void {
    this.#remaining = Number.POSITIVE_INFINITY;
  }

  /** Returns a proxy of the port whose writes fail once the controllers are killed. */
  of<T extends ControlPlaneApi | VolumeProvisioner>(port: T): T {
    return new Proxy(port, {
      get: (target, name) => {
        const member: unknown = Reflect.get(target, name, target);
        if (typeof member !== 'function') {
          return member;
        }
        const call = (...parameters: unknown[]): unknown => Reflect.apply(member, target, parameters);
        return writes.includes(String(name))
          ? (...parameters: unknown[]) => this.#spend(() => call(...parameters))
          : call;
      },
    });
  }

  async #spend(write: () => unknown): Promise<unknown> {
    this.#remaining -= 1;
    if (this.#remaining >= 0) {
      return write();
    }
    this.#killed = true;
    if (this.#remaining === -1 && this.#moment === 'after') {
      await write();
    }
    throw new Error('killed');
  }
}

export interface ClusterFixture {
  readonly api: ControlPlaneApi;
  readonly clock: ManualClock;
  readonly provisioner: FakeProvisioner;
  readonly errors: unknown[];
  /** Stops the controllers and starts new ones; `between` is called while none run. */
  restart(between?: () => void): Promise<void>;
  find<T extends KubernetesObject>(reference: ObjectReference): Promise<T | undefined>;
  /** Waits until `condition` returns a value; advances the clock, so that back-offs expire. */
  until<T>(what: string, condition: () => Promise<T | undefined | false>): Promise<T>;
  reasons(name: string): Promise<string[]>;
}

/** Starts a cluster with a namespace, a node, the class `local` and running controllers. */
export async function startCluster(t: TestContext, mortality?: CrashInjector): Promise<ClusterFixture> {
  const clock = new ManualClock();
  const directory = await mkdtemp(join(tmpdir(), 'controllers-'));
  const api = await openLocalApi({ directory, clock });
  const provisioner = new FakeProvisioner();
  const errors: unknown[] = [];
  const start = (): ReturnType<typeof startControllers> =>
    startControllers({
      api: mortality?.of(api) ?? api,
      provisioner: mortality?.of(provisioner) ?? provisioner,
      clock,
      random: () => 0,
      onError: (error) => errors.push(error),
    });
  await api.create(resources.nodes, {
    metadata: { name: 'embedded', labels: { 'kubernetes.io/hostname': 'embedded' } },
  });
  await api.patch(
    { resource: resources.nodes, name: 'embedded' },
    { status: { allocatable: { cpu: '4', memory: '8Gi', pods: '110' } } },
    { subresource: 'status' },
  );
  let running = await start();
  t.after(async () => {
    await running.stop();
    await api.close();
    await rm(directory, { recursive: true });
  });
  const find = async <T extends KubernetesObject>(reference: ObjectReference): Promise<T | undefined> => {
    try {
      return await api.get<T>(reference);
    } catch (error) {
      if (isApiError(error, 404)) {
        return undefined;
      }
      throw error;
    }
  };
  return {
    api,
    clock,
    provisioner,
    errors,
    find,
    restart: async (between) => {
      await running.stop();
      between?.();
      running = await start();
    },
    until: async (what, condition) => {
      for (let tries = 0; tries < 500; tries += 1) {
        const value = await condition();
        if (value !== undefined && value !== false) {
          return value;
        }
        await turn();
        if (tries % 20 === 19) {
          clock.advance(1000);
        }
      }
      return assert.fail(`waited in vain for ${what}; ${errors.map(describe).join('; ')}`);
    },
    reasons: async (name) => {
      const { items } = await api.list<EventRecord>(resources.events);
      return items
        .filter(({ involvedObject }) => involvedObject?.name === name)
        .map(({ reason }) => reason ?? '');
    },
  };
}

/**
 * Waits for enough turns of the event loop for controllers to act, so that a test can show that they do not.
 */
export async function settled(): Promise<void> {
  for (let turns = 0; turns < 50; turns += 1) {
    await turn();
  }
}

export const at = (resource: Resource, name: string): ObjectReference =>
  resource.namespaced ? { resource, namespace: 'bosh', name } : { resource, name };

export function makePod(name: string, spec: Partial<Pod['spec']> = {}): Pod {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'bosh' },
    spec: { containers: [{ name: 'bosh', image: hostRootImage }], ...spec },
  };
}

function describe(error: unknown): string {
  return error instanceof Error ? `${error.message}: ${String(error.cause)}` : String(error);
}
