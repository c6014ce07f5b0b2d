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
import { provision, storeFolder, volumesOf } from './volume-folder.ts';

export const recreate = { kubernetes: { attach: 'recreate' } };
const unclaimed = 'bosh.cloudfoundry.org/unclaimed';

/** One row of the table of requests in docs/cpi.md that asks the API for something. */
export interface VerbCase {
  readonly row: string;
  /** Of its test, where it does what another one of the same row does in other surroundings. */
  readonly title?: string;
  readonly method: string;
  readonly settings?: Readonly<Record<string, unknown>>;
  /** Arguments of a call that has everything still to do. */
  readonly prepare: (verbs: VerbWorld) => Promise<readonly unknown[]>;
  /** It waits for something that takes time, by a watch. */
  readonly waits?: true;
  /** What it waits for would be there at once, without a watch: has it take its time, until it is released. */
  readonly hold?: (verbs: VerbWorld, args: readonly unknown[]) => Promise<Release>;
  /** It writes once more before it waits: where that has to be asked again, what it waits for is there already, without a watch. */
  readonly writesBeforeItWaits?: true;
  /** It writes and reads nothing: its row of the table says what is read at most. */
  readonly readsNothing?: true;
  /** Done a second time it takes long. */
  readonly isSlowAgain?: true;
  /** How the call that comes after a disturbed one may end; success when absent. */
  readonly againMayFail?: RegExp;
  /** What a disturbed call may leave, marked as unclaimed: the contract gives no key to find it by. */
  readonly mayLeave?: 'disks' | 'snapshots';
  /** What the answer, or the second one, has to be worth. */
  readonly check?: (verbs: VerbWorld, args: readonly unknown[], result: unknown) => Promise<void>;
}

/** A world for calls that are done harm to: two VMs, a second storage class, the definition of Multus. */
export class VerbWorld {
  readonly world: World;
  readonly vm: string;
  /** A VM whose disks come by the strategy `recreate`. */
  readonly recreated: string;
  /** The default storage class under another name. */
  readonly otherClass: string;
  readonly #isMultusOurs: boolean;
  /** The volumes are folders of this machine; elsewhere content is a VM's matter. */
  readonly #hasFolders: boolean;
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
    this.#hasFolders = world.target.kind === 'embedded';
  }

  static async open(): Promise<VerbWorld> {
    // nobody speaks to these agents, and the start of each of hundreds costs more than the call that makes its VM
    const agents = createServer().listen(0, '127.0.0.1');
    await once(agents, 'listening');
    // what looks for an agent that listens finds one at once
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

  /** A disk with content that no VM has. */
  async filled(): Promise<string> {
    if (!this.#hasFolders) {
      const disk = await this.attached();
      await this.world.call('detach_disk', this.vm, disk);
      return disk;
    }
    const disk = await this.world.newDisk({}, this.vm);
    await provision(this.world, disk);
    await this.#writeContent(disk);
    return disk;
  }

  /** A disk with content that the VM has. */
  async attached(vm = this.vm): Promise<string> {
    const disk = await this.world.newDisk({}, vm);
    await this.world.call('attach_disk', vm, disk);
    if (this.#hasFolders) await this.#writeContent(disk);
    else await this.fill(disk, vm);
    return disk;
  }

  /** A VM whose disks come by the strategy `recreate`. */
  async newRecreated(vm: NewVm = {}): Promise<string> {
    const made = await this.world.request('create_vm', this.world.vmArguments(vm), { settings: recreate });
    assert.equal(made.error, null, made.error?.message);
    return (made.result as [string])[0];
  }

  /** Gives an attached disk its content, as its VM does. */
  async fill(disk: string, vm: string): Promise<void> {
    await this.world.run(vm, `echo kept > ${store(disk)}/content`);
  }

  /** From here on one disk that has to be kept is given to a VM; of the others only the content is looked at. */
  lookInside(): void {
    this.#looksInside = true;
  }

  /**
   * Asserts that the disk still has its content, and deletes it. That nothing has it mounted any more is seen by
   * `isAsBefore`: its volume would stay.
   */
  async isKept(disk: string): Promise<void> {
    if (this.#hasFolders) {
      const content = await readFile(join(await storeFolder(this.world, disk), 'content'), 'utf8');
      assert.equal(content, 'kept\n');
    }
    if (this.#looksInside || !this.#hasFolders) {
      this.#looksInside = false;
      await this.world.call('attach_disk', this.vm, disk);
      assert.equal(await this.world.run(this.vm, `cat ${store(disk)}/content`), 'kept\n');
      await this.world.call('detach_disk', this.vm, disk);
    }
    await this.world.call('delete_disk', disk);
  }

  /** Settings of a call that asks the API by way of the proxy. */
  async through(proxy: ApiProxy, { settings }: VerbCase): Promise<Record<string, unknown>> {
    const { access } = this.world.target;
    const token = await tokenOf(access, this.world.namespace);
    const kubeconfig = tokenKubeconfig({ ...access, server: proxy.server, ca: proxy.ca }, token);
    return { ...settings, kubernetes: { ...(settings?.['kubernetes'] as object), kubeconfig } };
  }

  /** All that the CPI made, of every kind, and the volumes of its disks. */
  async everything(): Promise<string[]> {
    const objects = await objectsLeft(this.world.api, this.world.namespace);
    return this.#hasFolders ? [...objects, ...(await volumesOf(this.world))] : objects;
  }

  /**
   * What a repeated call may have left, marked as unclaimed, is removed; then all has to be as in `empty`. Fails for a
   * snapshot without the mark.
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
    await writeFile(join(await storeFolder(this.world, disk), 'content'), 'kept\n');
  }

  async #names(resource: Resource, labelSelector?: string): Promise<string[]> {
    const query = { namespace: this.world.namespace, ...(labelSelector !== undefined && { labelSelector }) };
    const { items } = await this.world.api.list(resource, query);
    return items.map(({ metadata }) => metadata.name ?? '').toSorted();
  }
}

export const store = (disk: string): string => `/warden-cpi-dev/disks/${disk}/store`;
