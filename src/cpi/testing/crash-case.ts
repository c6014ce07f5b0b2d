import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import type { Kind } from '../../cluster/api/kinds/kind.ts';
import type { CallContext, Verb } from '../cloud.ts';
import { Crash, crashingApi } from './crashing-api.ts';
import type { TestCloud } from './test-cloud.ts';
import { testCloud } from './test-cloud.ts';

export interface CrashCase {
  readonly name: string;
  readonly config?: Record<string, unknown>;
  /** Served beside the embedded cluster's own. */
  readonly moreKinds?: readonly Kind[];
  /** The state that the verb starts from; resolves with the verb's arguments. */
  readonly prepare: (cloud: CallContext) => Promise<unknown[]>;
  readonly verb: Verb;
  /** How many writes one call makes at most. */
  readonly writes: number;
  readonly check: (world: TestCloud, args: readonly unknown[]) => Promise<void>;
}

/** Each case killed before and after each of its writes, then called again, and once more. */
export function testCrashes(cases: readonly CrashCase[]): void {
  for (const crashCase of cases) {
    for (let write = 1; write <= crashCase.writes; write += 1) {
      for (const moment of ['before', 'after'] as const) {
        test(`${crashCase.name}: killed ${moment} write ${write}, then called again`, (t) =>
          killedThenAgain(t, crashCase, write, moment));
      }
    }
  }
}

async function killedThenAgain(
  t: TestContext,
  { config, moreKinds, prepare, verb, check }: CrashCase,
  write: number,
  moment: 'before' | 'after',
): Promise<void> {
  const world = await testCloud(t, config, moreKinds);
  const args = await prepare(world.cloud);
  const dying = { ...world.cloud, api: crashingApi(world.api, write, moment) };
  await assert.rejects(verb(dying, args), (error) => error instanceof Crash);
  await verb(world.cloud, args);
  await check(world, args);
  await verb(world.cloud, args);
  await check(world, args);
}
