import { randomInt } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { Acknowledged } from './support/acknowledged.ts';
import { startApi } from './support/api-process.ts';
import type { ApiProcess } from './support/api-process.ts';
import { seededRandom } from './support/random.ts';
import type { Random } from './support/random.ts';

const kills = Number(process.env['BOSH_KUBERNETES_KILLS'] ?? 15);
const seed = Number(process.env['BOSH_KUBERNETES_FUZZ_SEED'] ?? randomInt(2 ** 32));
const writers = ['a', 'b', 'c', 'd'].map((writer) => [1, 2, 3, 4].map((n) => `${writer}${n}`));

test(
  `the API server killed -9 ${kills} times during writes keeps each acknowledged one`,
  { timeout: 900_000 },
  async (t) => {
    t.diagnostic(`seed ${seed}; BOSH_KUBERNETES_FUZZ_SEED=${seed} makes the same writes again`);
    const directory = mkdtempSync(join(tmpdir(), 'bosh-kubernetes-killed-api-'));
    let api: ApiProcess | undefined;
    t.after(async () => {
      // A server that survived a failed check would keep this process alive.
      await api?.kill();
      rmSync(directory, { recursive: true });
    });
    const random = seededRandom(seed);
    const acknowledged = new Acknowledged(random);
    for (let n = 0; n < kills; n += 1) {
      api = await startApi(directory);
      await acknowledged.check(api.transport);
      await writeUntilKilled(api, acknowledged, random);
    }
    api = await startApi(directory);
    await acknowledged.check(api.transport);
    await api.kill();
    const { writes, unanswered, doneUnanswered } = acknowledged;
    t.diagnostic(
      `${kills} kills, ${writes} acknowledged writes, all there; ${unanswered} without an answer, of which ${doneUnanswered} were done`,
    );
  },
);

/** Runs all writers at once. Kills the server at a random moment after a random number of responses. */
async function writeUntilKilled(api: ApiProcess, acknowledged: Acknowledged, random: Random): Promise<void> {
  let remaining = 1 + random.below(40);
  let killed: Promise<void> | undefined;
  const count = (): void => {
    remaining -= 1;
    if (remaining <= 0) killed ??= setTimeout(random.below(6)).then(() => api.kill());
  };
  await Promise.all(writers.map((names) => acknowledged.write(api.transport, names, count)));
  await killed;
}
