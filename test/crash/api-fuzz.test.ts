import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { test } from 'node:test';
import { inThread } from '../support/in-thread.ts';
import type { FuzzReport } from './support/fuzz/fuzz-thread.ts';

const total = Number(process.env['BOSH_KUBERNETES_FUZZ_REQUESTS'] ?? 100_000);
const seed = Number(process.env['BOSH_KUBERNETES_FUZZ_SEED'] ?? randomInt(2 ** 32));

test(
  `${total} fuzzed requests: no crash, no 5xx, and every stored object stays valid`,
  // a minute of work, which beside a real cluster's suites takes many
  { timeout: 3_600_000 },
  async (t) => {
    t.diagnostic(`seed ${seed}; BOSH_KUBERNETES_FUZZ_SEED=${seed} runs the same again`);
    const program = new URL('support/fuzz/fuzz-thread.ts', import.meta.url);
    const { mutations, pastParsing, codes } = await inThread<FuzzReport>(program, { total, seed });
    const counted = [...codes]
      .toSorted(([left], [right]) => left - right)
      .map(([code, count]) => `${count} x ${code}`);
    t.diagnostic(
      `${total} requests, ${mutations} mutations of valid ones, ${pastParsing} of them past parsing`,
    );
    t.diagnostic(`answers: ${counted.join(', ')}`);
    assert.equal(
      [...codes.values()].reduce((sum, count) => sum + count, 0),
      total,
    );
    assert(pastParsing >= total / 2, `only ${pastParsing} mutations got past parsing`);
  },
);
