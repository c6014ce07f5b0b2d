import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CrashInjector, startCluster, type ClusterFixture } from './cluster-fixture.ts';

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
    test(`${story.name}: after a crash ${moment} any write, the next run reaches the same result`, async (t) => {
      let lives = 0;
      for (let writes = 0; ; writes += 1) {
        const mortality = new CrashInjector(moment, writes);
        await t.test(`a crash after ${writes} writes`, async (one) => {
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
