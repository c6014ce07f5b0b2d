import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { annotationsCapability } from './plugin/requested-addresses.ts';
import { assertCniError, assertFuzzedCalls, assertFuzzedProcesses } from './testing/assert-fuzzed.ts';
import {
  buildExecutable,
  executableIsMissing,
  runExecutable,
  type BuiltExecutable,
} from './testing/executable.ts';

// fuzz.crash.test.ts does this a hundred thousand times
test('5,000 calls that cannot succeed are one CNI error each', () => assertFuzzedCalls(5000));

describe('as processes', { skip: executableIsMissing }, () => {
  let built: BuiltExecutable;
  before(async () => {
    built = await buildExecutable();
  });
  after(() => built.remove());

  test('30 calls that cannot succeed are one CNI error each', () => assertFuzzedProcesses(built.path, 30));

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
    test(`${name} that is missing, empty, or not UTF-8`, async () => {
      const { [name]: omitted, ...others } = environment;
      for (const changed of [others, { ...others, [name]: '' }]) {
        const outcome = await runExecutable(built.path, { environment: changed, input });
        assert.equal(assertCniError(outcome.stdout), missing, `${name} was ${omitted}`);
        assert.deepEqual([outcome.code, outcome.stderr], [1, '']);
      }
      // uses a shell, because environments in Node are text
      const script = 'export "$1=$(printf "$2")"; exec "$0"';
      const args = ['-c', script, built.path, name, String.raw`c1\377\300x`];
      const outcome = await runExecutable('/bin/sh', { args, environment: others, input });
      assert.equal(assertCniError(outcome.stdout), odd);
      assert.deepEqual([outcome.code, outcome.stderr], [1, '']);
    });

  test('stdin that is not UTF-8', async () => {
    for (const bytes of [Buffer.of(0xff, 0xfe), Buffer.concat([Buffer.of(0xc0), Buffer.from(input)])]) {
      const outcome = await runExecutable(built.path, { environment, input: bytes });
      assert.equal(assertCniError(outcome.stdout), 6);
    }
  });
});
