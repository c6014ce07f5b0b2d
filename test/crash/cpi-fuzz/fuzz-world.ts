import type { TestContext } from 'node:test';
import { answerRequest } from '../../../src/cpi/answer.ts';
import { parseConfig } from '../../../src/cpi/config/config.ts';
import type { Known } from './inputs.ts';
import { mbusPassword, namespace, testCloud } from '../../../src/cpi/testing/test-cloud.ts';
import type { Clock } from '../../../src/platform/clock.ts';

export interface FuzzWorld {
  /**
   * Returns the CPI's stdout for the given stdin, and whether the input got past the envelope to a CPI
   * method.
   */
  readonly ask: (stdin: Buffer) => Promise<{ stdout: string; isPastEnvelope: boolean }>;
  readonly known: Known;
}

const realPauseMs = 30;

/** Returns a clock on which no wait is long: a sleep of one hour ends after 30 ms. */
function hastyClock(): Clock {
  let ahead = 0;
  return {
    now: () => Date.now() + ahead,
    sleep: (milliseconds, signal) =>
      new Promise((resolve) => {
        const wake = (): void => {
          clearTimeout(timer);
          signal?.removeEventListener('abort', wake);
          resolve();
        };
        const timer = setTimeout(
          () => {
            ahead += Math.max(0, milliseconds - realPauseMs);
            wake();
          },
          Math.min(milliseconds, realPauseMs),
        );
        if (signal?.aborted === true) wake();
        else signal?.addEventListener('abort', wake);
      }),
  };
}

/** The CPI in this process, against the embedded API server with a node that only reports running pods. */
export async function fuzzWorld(t: TestContext): Promise<FuzzWorld> {
  const { cloud } = await testCloud(t);
  const clock = hastyClock();
  const file = {
    agent: { mbus: `https://mbus:${mbusPassword}@0.0.0.0:6868` },
    kubernetes: { namespace },
    deadlines: { release: 1 },
  };
  const known = { vms: [] as string[], disks: [] as string[] };
  const remember = (result: unknown): void => {
    const cid = Array.isArray(result) ? (result[0] as unknown) : result;
    if (typeof cid !== 'string') return;
    for (const [kind, cids] of [
      ['vm-', known.vms],
      ['disk-', known.disks],
    ] as const) {
      if (!cid.startsWith(kind) || cids.includes(cid)) continue;
      cids.push(cid);
      if (cids.length > 8) cids.shift();
    }
  };
  return {
    known,
    ask: async (stdin) => {
      let isPastEnvelope = false;
      const response = await answerRequest(stdin.toString('utf8'), {
        readConfig: () => {
          isPastEnvelope = true;
          return Promise.resolve(JSON.stringify(file));
        },
        openCall: ({ file: parsed, context, contextName }) => {
          const config = parseConfig(parsed, context, contextName);
          const own = { config, clock, namespace: config.kubernetes.namespace ?? namespace };
          return Promise.resolve({
            call: { ...cloud, ...own },
            log: () => '',
            secrets: () => Promise.resolve([]),
            close: () => undefined,
          });
        },
      });
      remember(response.result);
      return { stdout: JSON.stringify(response), isPastEnvelope };
    },
  };
}
