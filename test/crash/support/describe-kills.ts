import assert from 'node:assert/strict';
import type { ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { CpiResponse } from '../../../src/cpi/protocol/protocol.ts';
import { requestRows } from '../../cpi/request-rows.ts';
import { isWrite, startApiProxy, type ProxiedRequest } from '../../support/api-proxy.ts';
import { type VerbCase, VerbWorld } from './verb-world.ts';

/** Kills after the API server's response with that number, or when the call's own response has begun. */
type Kill = { readonly after: 'write' | 'request'; readonly number: number } | { readonly after: 'answer' };

interface Seen {
  readonly writes: number;
  readonly requests: number;
  /** True if the process did not exit by itself before. */
  readonly wasKilled: boolean;
}

/** Attempts for a kill before the response: a call may send one request less than the previous one. */
const attempts = 10;

/** The environment that a director gives to a CPI. Bun's executable does not exit after its response. */
const heldAnswered = {
  ...{ PATH: '/usr/sbin:/usr/bin:/sbin:/bin', TMPDIR: '/tmp', HOME: '/nonexistent' },
  BUN_OPTIONS: `--preload=${join(import.meta.dirname, 'hold-answered.ts')}`,
};

/** Kills each case after each of its writes, before its response and after it, and then repeats the call. */
export function describeKills(title: string, cases: readonly VerbCase[]): void {
  describe(title, () => {
    let verbs: VerbWorld;
    /**
     * The kills of each case directly after a write. A kill around its response cannot replace one of these.
     */
    const kills = new Map<VerbCase, number>();
    let aroundAnswers = 0;

    before(async () => {
      verbs = await VerbWorld.open();
    });
    after(() => verbs.close());

    for (const each of cases) {
      test(`${each.title ?? each.row}, killed after every write and around its answer`, async () => {
        const empty = await verbs.everything();
        verbs.lookInside();
        let seen: Seen;
        let number = 1;
        // The last round is not killed but is repeated all the same.
        do {
          seen = await killAndRepeat(each, { after: 'write', number }, empty);
          if (seen.wasKilled) kills.set(each, number);
        } while (seen.writes >= number++);
        await killBeforeAnswer(each, seen, empty);
        verbs.lookInside();
        const { wasKilled } = await killAndRepeat(each, { after: 'answer' }, empty);
        assert.ok(wasKilled, `${each.row} was not there any more when it had answered`);
        aroundAnswers += 1;
      });
    }

    test('no row of the table in docs/cpi.md was killed after fewer writes than it has', async (t) => {
      const rows = await requestRows();
      for (const each of cases) {
        const { writes } = rows.get(each.row) ?? assert.fail(`${each.row} is not in the table`);
        const count = kills.get(each) ?? 0;
        assert.ok(count >= writes, `${each.row}: killed after ${count} writes of ${writes}`);
      }
      const afterWrites = [...kills.values()].reduce((sum, count) => sum + count, 0);
      t.diagnostic(
        `${afterWrites} kills after writes and ${aroundAnswers} around answers of ${cases.length} calls`,
      );
    });

    async function killBeforeAnswer(each: VerbCase, seen: Seen, empty: readonly string[]): Promise<void> {
      let last = seen;
      for (let attempt = 1; attempt <= attempts; attempt += 1) {
        last = await killAndRepeat(each, { after: 'request', number: last.requests }, empty);
        if (!last.wasKilled) continue;
        aroundAnswers += 1;
        return;
      }
      assert.fail(`${each.row} never was killed before its answer`);
    }

    /** Kills the call and repeats it. Returns what the killed call did. */
    async function killAndRepeat(each: VerbCase, kill: Kill, empty: readonly string[]): Promise<Seen> {
      const args = await each.prepare(verbs);
      const { answered, ...seen } = await killed(each, args, kill);
      const { result, error } = await verbs.world.request(each.method, args, {
        settings: each.settings ?? {},
      });
      const what = `killed ${JSON.stringify(kill)}`;
      if (error !== null && each.againMayFail?.test(error.type) !== true) {
        assert.fail(`${each.row} again, ${what}: ${error.type}: ${error.message}`);
      }
      // The caller may have recorded the response.
      if (answered?.error === null && error === null && each.mayLeave === undefined)
        assert.deepEqual(result, answered.result, `${each.row} again, ${what}`);
      await each.check?.(verbs, args, result);
      await verbs.isAsBefore(each, { empty, what });
      return seen;
    }

    async function killed(
      each: VerbCase,
      args: readonly unknown[],
      kill: Kill,
    ): Promise<Seen & { readonly answered: CpiResponse | undefined }> {
      let child: ChildProcess | undefined;
      let answered: CpiResponse | undefined;
      const seen = { writes: 0, requests: 0 };
      const killNow = (): void => void child?.kill('SIGKILL');
      const onAnswer = (request: ProxiedRequest): void => {
        seen.requests += 1;
        if (isWrite(request)) seen.writes += 1;
        if (kill.after === 'request' && seen.requests === kill.number) killNow();
        if (kill.after === 'write' && isWrite(request) && seen.writes === kill.number) killNow();
      };
      const proxy = await startApiProxy({
        access: verbs.world.target.access,
        decide: () => ({ kind: 'pass' }),
        onAnswer,
      });
      try {
        const options = {
          settings: await verbs.through(proxy, each),
          ...(kill.after === 'answer' && { environment: heldAnswered }),
          onStart: (started: ChildProcess) => {
            child = started;
            // The response is written in one piece, so its first byte implies the last.
            if (kill.after !== 'answer') return;
            started.stdout?.once('data', (answer: Buffer) => {
              answered = JSON.parse(answer.toString()) as CpiResponse;
              killNow();
            });
          },
        };
        // For its caller a killed process has no response.
        await verbs.world.request(each.method, args, options).catch(() => {});
      } finally {
        await proxy.close();
      }
      return { ...seen, answered, wasKilled: child?.signalCode === 'SIGKILL' };
    }
  });
}
