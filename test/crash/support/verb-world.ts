import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { createServer, type AddressInfo, type Server } from 'node:net';
import { join } from 'node:path';
import { idleAgent } from '../../../src/cpi/testing/agents.ts';
import type { Resource } from '../../../src/kubernetes/api.ts';
import {
  persistentVolumeClaims,
  storageClasses,
  volumeSnapshots,
} from '../../../src/kubernetes/resources.ts';
import { tokenKubeconfig, tokenOf } from '../../conformance/roles.ts';
import { World, type NewVm } from '../../conformance/world.ts';
import type { ApiProxy } from '../../support/api-proxy.ts';
import { until } from '../../support/until.ts';
import type { Release } from './hold.ts';
import { installMultus, multusDefinition } from './multus.ts';
import { objectsLeft } from './objects-left.ts';
import { provision, storeDirectory, volumesOf } from './volume-directory.ts';

export const recreate = { kubernetes: { attach: 'recreate' } };
const unclaimed = 'bosh.cloudfoundry.org/unclaimed';

/** One row of the table of requests in docs/cpi/internals.md that sends requests to the API server. */
export interface VerbCase {
  readonly row: string;
  /**
   * The test's title, if the case calls the method of another case of the same row under different
   * conditions.
   */
  readonly title?: string;
  readonly method: string;
  readonly settings?: Readonly<Record<string, unknown>>;
  /** Returns the arguments of a call for which nothing has been done yet. */
  readonly prepare: (verbs: VerbWorld) => Promise<readonly unknown[]>;
  /** True if the call waits for a slow change, by a watch. */
  readonly waits?: true;
  /**
   * Delays the change that the call waits for until it is released. Otherwise it would happen at once, and
   * the call would not need a watch.
   */
  readonly hold?: (verbs: VerbWorld, args: readonly unknown[]) => Promise<Release>;
  /**
   * True if the call writes once more before it waits. If that write has to be repeated, the awaited change
   * has already happened, and the call does not need a watch.
   */
  readonly writesBeforeItWaits?: true;
  /**
   * True if the call writes and reads nothing, although the table has a number of reads for it, which is an
   * upper bound.
   */
  readonly readsNothing?: true;
  /** True if the second call takes long. */
  readonly isSlowAgain?: true;
  /** The error that the call after a disturbed one may have. By default it must succeed. */
  readonly againMayFail?: RegExp;
  /**
   * The objects that a disturbed call may leave, marked as unclaimed, because the contract has no key to find
   * it by.
   */
  readonly mayLeave?: 'disks' | 'snapshots';
  /** Checks the result of the call, or of the repeated call. */
  readonly check?: (verbs: VerbWorld, args: readonly unknown[], result: unknown) => Promise<void>;
}

/** A world for calls that are disturbed: two VMs, a second storage class, and the definition of Multus. */
export class VerbWorld {
  readonly world: World;
  readonly vm: string;
  /** A VM whose disks are attached by the strategy `recreate`. */
  readonly recreated: string;
  /** A copy of the default storage class with another name. */
  readonly otherClass: string;
  readonly #isMultusOurs: boolean;
  /** True if volumes are directories on this machine. Otherwise only a VM can read their content. */
  readonly #hasDirectories: boolean;
  readonly #agents: Server;
  #looksInside = false;

  private constructor(
    world: World,
    parts: { vm: string; recreated: string; isMultusOurs: boolean; agents: Server },
  ) {
    this.world = world;
    this.#agents = parts.agents;
    this.vm = parts.vm;
    this.recreated = parts.recreated;
    this.otherClass = `${world.namespace}-other`;
    this.#isMultusOurs = parts.isMultusOurs;
    this.#hasDirectories = world.target.kind === 'embedded';
  }

  static async open(): Promise<VerbWorld> {
    // No client connects to these agents, and starting hundreds of them would cost more than the calls that
    // create their VMs.
    const agents = createServer().listen(0, '127.0.0.1');
    await once(agents, 'listening');
    // A call that waits for a listening agent finds one at once.
    const { port } = agents.address() as AddressInfo;
    const world = await World.open({ agent: idleAgent, agentPort: port });
    const vm = await world.newVm();
    const made = await world.request('create_vm', world.vmArguments(), { settings: recreate });
    assert.equal(made.error, null, made.error?.message);
    const [recreated] = made.result as [string];
    const isMultusOurs = await installMultus(world.api);
    const verbs = new VerbWorld(world, { vm, recreated, isMultusOurs, agents });
    const [first] = (await world.api.list(storageClasses)).items;
    assert.ok(first !== undefined);
    const { metadata: _, ...rest } = first;
    await world.api.create(storageClasses, { ...rest, metadata: { name: verbs.otherClass } });
    return verbs;
  }

  async close(): Promise<void> {
    const { api } = this.world;
    await api.delete({ resource: storageClasses, name: this.otherClass });
    if (this.#isMultusOurs) await api.delete(multusDefinition);
    await this.world.close();
    this.#agents.close();
  }

  /** Returns a disk with content that is not attached. */
  async filled(): Promise<string> {
    if (!this.#hasDirectories) {
      const disk = await this.attached();
      await this.world.call('detach_disk', this.vm, disk);
      return disk;
    }
    const disk = await this.world.newDisk({}, this.vm);
    await provision(this.world, disk);
    await this.#writeContent(disk);
    return disk;
  }

  /** Returns a disk with content that is attached to the VM. */
  async attached(vm = this.vm): Promise<string> {
    const disk = await this.world.newDisk({}, vm);
    await this.world.call('attach_disk', vm, disk);
    if (this.#hasDirectories) await this.#writeContent(disk);
    else await this.fill(disk, vm);
    return disk;
  }

  /** Creates a VM whose disks are attached by the strategy `recreate`. */
  async newRecreated(vm: NewVm = {}): Promise<string> {
    const made = await this.world.request('create_vm', this.world.vmArguments(vm), { settings: recreate });
    assert.equal(made.error, null, made.error?.message);
    return (made.result as [string])[0];
  }

  /** Writes the content of an attached disk, as its VM does. */
  async fill(disk: string, vm: string): Promise<void> {
    await this.world.run(vm, `echo kept > ${store(disk)}/content`);
  }

  /** From now on one disk that must be kept is attached to a VM. Of the others only the content is read. */
  lookInside(): void {
    this.#looksInside = true;
  }

  /**
   * Asserts that the disk still has its content, and deletes it. `isAsBefore` shows that it is not mounted
   * any more: otherwise its volume would stay.
   */
  async isKept(disk: string): Promise<void> {
    if (this.#hasDirectories) {
      const content = await readFile(join(await storeDirectory(this.world, disk), 'content'), 'utf8');
      assert.equal(content, 'kept\n');
    }
    if (this.#looksInside || !this.#hasDirectories) {
      this.#looksInside = false;
      await this.world.call('attach_disk', this.vm, disk);
      assert.equal(await this.world.run(this.vm, `cat ${store(disk)}/content`), 'kept\n');
      await this.world.call('detach_disk', this.vm, disk);
    }
    await this.world.call('delete_disk', disk);
  }

  /** Returns the settings of a call whose requests go through the proxy. */
  async through(proxy: ApiProxy, { settings }: VerbCase): Promise<Record<string, unknown>> {
    const { access } = this.world.target;
    const token = await tokenOf(access, this.world.namespace);
    const kubeconfig = tokenKubeconfig({ ...access, server: proxy.server, ca: proxy.ca }, token);
    return { ...settings, kubernetes: { ...(settings?.['kubernetes'] as object), kubeconfig } };
  }

  /** Returns all objects that the CPI created, of every kind, and the volumes of its disks. */
  async everything(): Promise<string[]> {
    const objects = await objectsLeft(this.world.api, this.world.namespace);
    return this.#hasDirectories ? [...objects, ...(await volumesOf(this.world))] : objects;
  }

  /**
   * Deletes what a repeated call may have left, marked as unclaimed, and asserts that everything is as in
   * `empty`. Fails for a snapshot without the mark.
   */
  async isAsBefore(
    each: VerbCase,
    { empty, what }: { empty: readonly string[]; what: string },
  ): Promise<void> {
    if (each.mayLeave === 'disks')
      for (const disk of await this.#names(persistentVolumeClaims, unclaimed))
        await this.world.call('delete_disk', disk);
    if (each.mayLeave === 'snapshots') {
      const marked = await this.#names(volumeSnapshots, unclaimed);
      assert.deepEqual(await this.#names(volumeSnapshots), marked);
      for (const snapshot of marked) await this.world.call('delete_snapshot', snapshot);
    }
    let now: string[] | undefined;
    await until(`the cluster to be as before ${each.row}, ${what}`, async () => {
      now = await this.everything();
      return JSON.stringify(now) === JSON.stringify(empty);
    }).catch((error: unknown) => {
      assert.deepEqual(now, empty, String(error));
      throw error;
    });
  }

  async #writeContent(disk: string): Promise<void> {
    await writeFile(join(await storeDirectory(this.world, disk), 'content'), 'kept\n');
  }

  async #names(resource: Resource, labelSelector?: string): Promise<string[]> {
    const query = { namespace: this.world.namespace, ...(labelSelector !== undefined && { labelSelector }) };
    const { items } = await this.world.api.list(resource, query);
    return items.map(({ metadata }) => metadata.name).toSorted();
  }
}

export const store = (disk: string): string => `/warden-cpi-dev/disks/${disk}/store`;
