import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { after, afterEach, before } from 'node:test';
import { isProductError } from '../../src/errors/product-error.ts';
import type { Pod } from '../../src/kubernetes/types/pod.ts';
import { pods } from '../../src/kubernetes/resources.ts';
import { EmbeddedEnvironment, namespace } from '../support/embedded-environment.ts';
import { LineVm, volumeOf } from '../support/line-vm.ts';
import { mountsOf, processesOf, type MachineProcess } from '../support/machine.ts';
import { until } from '../support/until.ts';
import { Canaries, DiskCanary, type Subject } from './canaries.ts';

/**
 * Registers a cluster for the tests of one `describe`, with canaries on the host and on a disk that is never
 * attached again. They are checked after each test and after the cluster was destroyed. VMs get addresses of
 * `net`, `a.b.c`.
 */
export function canaryWorld(net: string): CanaryWorld {
  const world = new CanaryWorld(net);
  before(() => world.start());
  afterEach(() => world.assertAlive());
  after(() => world.end());
  return world;
}

/** See canaryWorld. */
export class CanaryWorld {
  readonly #net: string;
  #line: EmbeddedEnvironment | undefined;
  #canaries: Canaries | undefined;
  #bystander: DiskCanary | undefined;
  #count = 100;

  constructor(net: string) {
    this.#net = net;
  }

  get line(): EmbeddedEnvironment {
    return this.#line ?? assert.fail('the cluster was not started');
  }

  get canaries(): Canaries {
    return this.#canaries ?? assert.fail('no canary was planted');
  }

  get bystander(): DiskCanary {
    return this.#bystander ?? assert.fail('there is no bystander');
  }

  async start(): Promise<void> {
    this.#line = await EmbeddedEnvironment.start();
    this.#canaries = await Canaries.plant(this.line);
    const { vm, disk, canary } = await this.newSubject();
    await vm.agent.stop();
    await vm.agent.unmountDisk(disk);
    await this.line.call('detach_disk', vm.cid, disk);
    await this.line.call('delete_vm', vm.cid);
    this.#bystander = canary;
  }

  async assertAlive(): Promise<void> {
    await this.canaries.assertAlive();
    await this.#bystander?.assertWhole();
    assert.deepEqual(await mountsOf(this.line.directory), []);
  }

  /** Destroys the cluster while a job writes. */
  async end(): Promise<void> {
    try {
      await this.newSubject();
    } finally {
      await this.#destroy();
    }
  }

  async #destroy(): Promise<void> {
    const { directory, clusterDirectory } = this.line;
    await this.line.destroy();
    assert.equal(existsSync(clusterDirectory), false);
    assert.deepEqual(await processesOf(directory), []);
    assert.deepEqual(await mountsOf(directory), []);
    await this.canaries.assertAliveWithout(clusterDirectory);
    await this.canaries.remove();
    await this.line.remove();
  }

  /** Waits until the bystander's volume is deleted, after the test has deleted its claim. */
  async untilBystanderIsDeleted(): Promise<void> {
    const { volume } = this.bystander;
    this.#bystander = undefined;
    await until('the end of the volume that nobody has', async () => !existsSync(volume));
  }

  async newSubject(): Promise<Subject> {
    this.#count += 1;
    const vm = await LineVm.create(this.line, `${this.#net}.${this.#count}`);
    const disk = await vm.newDisk();
    const content = `canary ${this.#count}`;
    await vm.run(`printf '${content}' > /var/vcap/store/canary && sync /var/vcap/store/canary`);
    await vm.startWriter(this.line.directory);
    const canary = new DiskCanary(await volumeOf(this.line, disk), content);
    await this.growing(canary);
    return { vm, disk, canary };
  }

  async growing(canary: DiskCanary): Promise<void> {
    const lines = await canary.lines();
    await until('the job to write on', async () => (await canary.lines()) > lines + 1, 60_000);
  }

  async writerOf(vm: LineVm): Promise<MachineProcess> {
    const { uid = '' } = (await vm.pod()).metadata;
    const job = (await processesOf(uid)).find(({ command }) => command.includes('writer/bin/run'));
    return job ?? assert.fail('no job writes');
  }

  async podNamed(name: string): Promise<Pod | undefined> {
    const { items } = await (await this.line.api()).list<Pod>(pods, { namespace });
    return items.find((pod) => pod.metadata.name === name);
  }

  /** Deletes the pod as kubectl does. `gracePeriodSeconds` 0 is its --force. */
  async deletePod(name: string, gracePeriodSeconds?: number): Promise<void> {
    const options = gracePeriodSeconds === undefined ? {} : { gracePeriodSeconds };
    await (await this.line.api()).delete({ resource: pods, namespace, name }, options);
  }

  /** Asserts that neither a process nor a directory of the VM is left. */
  async assertDeleted(vm: LineVm): Promise<void> {
    assert.equal(await this.line.call('has_vm', vm.cid), false);
    await assert.rejects(vm.agent.ping(), (error) => isProductError(error, 'AGENT_UNREACHABLE'));
    const { items } = await (await this.line.api()).list<Pod>(pods, { namespace });
    const living = new Set(items.map((pod) => pod.metadata.uid));
    await until('the end of the directories of pods that are gone', async () => {
      const present = await readdir(join(this.line.clusterDirectory, 'kubelet', 'pods'));
      return present.every((uid) => living.has(uid));
    });
  }

  /** Asserts that another VM can use the unchanged disk. Deletes both. */
  async assertFree(disk: string, canary: DiskCanary): Promise<void> {
    this.#count += 1;
    const other = await LineVm.create(this.line, `${this.#net}.${this.#count}`);
    await other.attach(disk);
    assert.equal(await other.run('cat /var/vcap/store/canary'), canary.content);
    await this.line.call('delete_vm', other.cid);
    await canary.assertWhole();
    await this.line.call('delete_disk', disk);
    await until('the end of the volume', async () => !existsSync(canary.volume));
  }
}
