import assert from 'node:assert/strict';
import type { ChildProcess } from 'node:child_process';
import { after, before, describe, test } from 'node:test';
import type { CpiResponse } from '../../../src/cpi/protocol.ts';
import { requestRows } from '../../cpi/request-rows.ts';
import { isWrite, startApiProxy, type ProxiedRequest } from '../../support/api-proxy.ts';
import type { VerbCase } from './verb-cases.ts';
import { VerbWorld } from './verb-world.ts';

/** After which of the answers that the API gives; or when the call's own answer has begun to come. */
type Kill = { readonly after: 'write' | 'request'; readonly number: number } | { readonly after: 'answer' };

interface Seen {
  readonly writes: number;
  readonly requests: number;
}

/** Each case, killed after each of its writes, before its answer and after it; then called again. */
export function describeKills(title: string, cases: readonly VerbCase[]): void {
  describe(title, () => {
    let verbs: VerbWorld;
    const kills = new Map<string, number>();

    before(async () => {
      verbs = await VerbWorld.open();
    });
    after(() => verbs.close());

    for (const each of cases) {
      test(`${each.row}, killed after every write and around its answer`, async () => {
        const empty = await verbs.everything();
        verbs.lookInside();
        let seen: Seen;
        let number = 1;
        // the last round is not killed, and is repeated all the same
        do seen = await killAndRepeat(each, { after: 'write', number }, empty);
        while (seen.writes >= number++);
        await killAndRepeat(each, { after: 'request', number: seen.requests }, empty);
        verbs.lookInside();
        await killAndRepeat(each, { after: 'answer' }, empty);
      });
    }

    test('no row of the table in docs/cpi.md was killed less often than it writes', async (t) => {
      const rows = await requestRows();
      for (const { row } of cases) {
        const { writes } = rows.get(row) ?? assert.fail(`${row} is not in the table`);
        const count = kills.get(row) ?? 0;
        assert.ok(count >= writes, `${row}: ${count} kills, and ${writes} writes`);
      }
      t.diagnostic(
        `${[...kills.values()].reduce((sum, count) => sum + count, 0)} kills of ${kills.size} kinds of calls`,
      );
    });

    /** Resolves with what the call got to. */
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
      // whoever called may have noted the answer
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
      const killNow = (): void => {
        child?.kill('SIGKILL');
        kills.set(each.row, (kills.get(each.row) ?? 0) + 1);
      };
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
          onStart: (started: ChildProcess) => {
            child = started;
            // the answer is written in one piece, so its first byte is as good as its last
            if (kill.after !== 'answer') return;
            started.stdout?.once('data', (answer: Buffer) => {
              answered = JSON.parse(answer.toString()) as CpiResponse;
              killNow();
            });
          },
        };
        // to its own caller a killed process has no answer
        await verbs.world.request(each.method, args, options).catch(() => {});
      } finally {
        await proxy.close();
      }
      return { ...seen, answered };
    }
  });
}
