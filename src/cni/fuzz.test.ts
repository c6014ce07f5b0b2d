import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import fc from 'fast-check';
import { annotationsCapability } from './address/asked-addresses.ts';
import { supportedVersions } from './plugin/cni-version.ts';
import { answerCall } from './plugin/plugin.ts';
import { buildExecutable, executableIsMissing, runExecutable } from './testing/executable.ts';
import type { BuiltExecutable } from './testing/executable.ts';
import { fuzzedCalls, oddBytes } from './testing/fuzzed-calls.ts';

/** One error object, with what the spec says is in it, and nothing else on stdout; its code. */
function assertCniError(stdout: string): number {
  const { cniVersion, code, msg, details, ...more } = JSON.parse(stdout) as Record<string, unknown>;
  assert.ok(supportedVersions.some((version) => version === cniVersion));
  assert.ok(typeof code === 'number' && Number.isSafeInteger(code) && code > 0, stdout);
  assert.ok(typeof msg === 'string' && msg !== '', stdout);
  assert.ok(details === undefined || (typeof details === 'string' && details !== ''), stdout);
  assert.deepEqual(more, {});
  assert.match(stdout, /^[^\n]+\n$/u);
  return code;
}

test('100,000 calls that cannot succeed are one CNI error each', async () => {
  const seen = new Map<number, number>();
  await fc.assert(
    fc.asyncProperty(fuzzedCalls, async ({ environment, input, outcome }) => {
      const { stdout, exitCode } = await answerCall({
        environment,
        readInput: () => Promise.resolve(input),
        run: () => Promise.resolve(outcome),
      });
      assert.equal(exitCode, 1);
      const code = assertCniError(stdout);
      seen.set(code, (seen.get(code) ?? 0) + 1);
    }),
    { numRuns: 100_000 },
  );
  // every way out was taken, the delegate's own failures among them
  for (const code of [1, 4, 6, 7, 100, 101, 102, 103])
    assert.ok((seen.get(code) ?? 0) > 100, `${code}: ${seen.get(code)}`);
});

describe('as processes', { skip: executableIsMissing }, () => {
  let built: BuiltExecutable;
  before(async () => {
    built = await buildExecutable();
  });
  after(() => built.remove());

  test('300 calls that cannot succeed are one CNI error each', async () => {
    await fc.assert(
      fc.asyncProperty(fuzzedCalls, oddBytes, async ({ environment, input: words }, made) => {
        const input = made?.(words) ?? words;
        const { stdout, stderr, code } = await runExecutable(built.path, { environment, input });
        assert.deepEqual([code, stderr], [1, '']);
        assertCniError(stdout);
      }),
      { numRuns: 300 },
    );
  });

  const environment: Readonly<Record<string, string>> = {
    ...{ CNI_COMMAND: 'ADD', CNI_CONTAINERID: 'c1', CNI_NETNS: '/proc/1/ns/net' },
    ...{ CNI_IFNAME: 'eth0', CNI_PATH: '/nonexistent' },
  };
  const input = JSON.stringify({
    ...{ cniVersion: '1.1.0', name: 'pods', type: 'static-ip', delegate: { type: 'none' } },
    runtimeConfig: { [annotationsCapability]: {} },
  });

  for (const { name, missing, odd } of [
    { name: 'CNI_COMMAND', missing: 4, odd: 4 },
    { name: 'CNI_CONTAINERID', missing: 4, odd: 4 },
    { name: 'CNI_NETNS', missing: 4, odd: 7 },
    { name: 'CNI_IFNAME', missing: 4, odd: 7 },
    { name: 'CNI_PATH', missing: 4, odd: 7 },
    { name: 'CNI_ARGS', missing: 7, odd: 7 },
  ])
    test(`${name} that is missing, empty, or of bytes that are no UTF-8`, async () => {
      const { [name]: left, ...others } = environment;
      for (const changed of [others, { ...others, [name]: '' }]) {
        const outcome = await runExecutable(built.path, { environment: changed, input });
        assert.equal(assertCniError(outcome.stdout), missing, `${name} was ${left}`);
        assert.deepEqual([outcome.code, outcome.stderr], [1, '']);
      }
      // a shell, as Node's own environments are text
      const script = 'export "$1=$(printf "$2")"; exec "$0"';
      const words = ['-c', script, built.path, name, String.raw`c1\377\300x`];
      const outcome = await runExecutable('/bin/sh', { words, environment: others, input });
      assert.equal(assertCniError(outcome.stdout), odd);
      assert.deepEqual([outcome.code, outcome.stderr], [1, '']);
    });

  test('stdin of bytes that are no UTF-8', async () => {
    for (const bytes of [Buffer.of(0xff, 0xfe), Buffer.concat([Buffer.of(0xc0), Buffer.from(input)])]) {
      const outcome = await runExecutable(built.path, { environment, input: bytes });
      assert.equal(assertCniError(outcome.stdout), 6);
    }
  });
});
