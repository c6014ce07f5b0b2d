import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import type { Kind } from '../../../embedded-cluster/api-server/kinds/kind.ts';
import type { CallContext, Verb } from '../call.ts';
import { Crash, crashingApi } from './crashing-api.ts';
import { type TestCloud, testCloud } from './test-cloud.ts';

export interface CrashOptions<Request> {
  readonly name: string;
  readonly config?: Record<string, unknown>;
  /** Kinds that are served in addition to those of the embedded cluster. */
  readonly moreKinds?: readonly Kind[];
  /** Creates the state in which the call starts; returns the request of the call. */
  readonly prepare: (cloud: CallContext) => Promise<Request>;
  readonly verb: Verb<Request>;
  /** The maximum number of writes of one call. */
  readonly writes: number;
  readonly check: (world: TestCloud, request: Request) => Promise<void>;
}

/** A case of any method. */
export interface CrashCase {
  readonly name: string;
  readonly writes: number;
  readonly run: (t: TestContext, write: number, moment: 'before' | 'after') => Promise<void>;
}

export const crashCase = <Request>(options: CrashOptions<Request>): CrashCase => ({
  name: options.name,
  writes: options.writes,
  run: (t, write, moment) => killedThenAgain(t, options, write, moment),
});

/** Tests each case: kills it before and after each of its writes, then repeats the call twice. */
export function testCrashes(cases: readonly CrashCase[]): void {
  for (const { name, writes, run } of cases) {
    for (let write = 1; write <= writes; write += 1) {
      for (const moment of ['before', 'after'] as const) {
        test(`${name}: killed ${moment} write ${write}, then called again`, (t) => run(t, write, moment));
      }
    }
  }
}

async function killedThenAgain<Request>(
  t: TestContext,
  { config, moreKinds, prepare, verb, check }: CrashOptions<Request>,
  write: number,
  moment: 'before' | 'after',
): Promise<void> {
  const world = await testCloud(t, config, moreKinds);
  const request = await prepare(world.cloud);
  const dying = { ...world.cloud, api: crashingApi(world.api, write, moment) };
  await assert.rejects(verb(dying, request), (error) => error instanceof Crash);
  await verb(world.cloud, request);
  await check(world, request);
  await verb(world.cloud, request);
  await check(world, request);
}
