import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type ClusterFixture, startCluster } from './cluster-fixture.ts';
import type { ControlPlaneApi } from '../../api-server/control-plane-api.ts';
import type { VolumeProvisioner } from '../../node/volume-provisioner.ts';

/** Polls until the condition is true; `what` is part of the error of a timeout. */
export type Until = (what: string, condition: () => Promise<unknown>) => Promise<unknown>;

/** A scenario in a cluster whose controllers may be killed at any write. */
export type CrashScenario = (cluster: ClusterFixture, until: Until) => Promise<void>;

/** Waits, and restarts the controllers if they were killed. */
const restartAfterCrash =
  (cluster: ClusterFixture, mortality: CrashInjector): Until =>
  (what, condition) =>
    cluster.until(what, async () => {
      if (mortality.isDead) {
        await cluster.restart(() => {
          mortality.revive();
        });
      }
      return (await condition()) || undefined;
    });

/** Runs the scenario twice for each of its writes: the controllers are killed before and after the write. */
export function testEachCrash(story: CrashScenario): void {
  for (const moment of ['before', 'after'] as const) {
    test(`${story.name}: killed ${moment} any write, the next life brings it to the same end`, async (t) => {
      let lives = 0;
      for (let writes = 0; ; writes += 1) {
        const mortality = new CrashInjector(moment, writes);
        await t.test(`after ${writes} writes`, async (one) => {
          const cluster = await startCluster(one, mortality);
          await story(cluster, restartAfterCrash(cluster, mortality));
        });
        if (!mortality.wasKilled) {
          break;
        }
        lives += 1;
      }
      assert.ok(lives > 15, `only ${lives} writes`);
    });
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
  #left: number;
  #killed = false;

  constructor(moment: 'before' | 'after', writesToLive: number) {
    this.#moment = moment;
    this.#left = writesToLive;
  }

  get isDead(): boolean {
    return this.#left < 0;
  }

  /** True if the chosen write was reached. */
  get wasKilled(): boolean {
    return this.#killed;
  }

  revive(): void {
    this.#left = Number.POSITIVE_INFINITY;
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
    this.#left -= 1;
    if (this.#left >= 0) {
      return write();
    }
    this.#killed = true;
    if (this.#left === -1 && this.#moment === 'after') {
      await write();
    }
    throw new Error('killed');
  }
}
