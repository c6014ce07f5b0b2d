import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import type { Kind } from '../../../embedded-cluster/api-server/kinds/kind.ts';
import type { CallContext, Verb } from '../call.ts';
import { Crash, crashingApi } from './crashing-api.ts';
import { type TestCloud, testCloud } from './test-cloud.ts';

export interface CrashCase {
  readonly name: string;
  readonly config?: Record<string, unknown>;
  /** Kinds that are served in addition to those of the embedded cluster. */
  readonly moreKinds?: readonly Kind[];
  /** Creates the state in which the call starts; returns the arguments of the call. */
  readonly prepare: (cloud: CallContext) => Promise<unknown[]>;
  readonly verb: Verb;
  /** The maximum number of writes of one call. */
  readonly writes: number;
  readonly check: (world: TestCloud, args: readonly unknown[]) => Promise<void>;
}

/** Tests each case: kills it before and after each of its writes, then repeats the call twice. */
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
