import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { chmod, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { addressAnnotation, annotationsCapability } from './plugin/requested-addresses.ts';
import {
  buildExecutable,
  executableIsMissing,
  runExecutable,
  type BuiltExecutable,
  type ProcessOutcome,
} from './testing/executable.ts';

const plugins = '/usr/lib/cni';
const hostLocalIsMissing =
  !existsSync(join(plugins, 'host-local')) &&
  `needs ${plugins}/host-local: apt-get install containernetworking-plugins`;

describe('the executable', { skip: executableIsMissing }, () => {
  let built: BuiltExecutable;
  let scratch: string;
  before(async () => {
    built = await buildExecutable();
    scratch = await mkdtemp(join(tmpdir(), 'static-ip-test-'));
  });
  after(async () => {
    await built.remove();
    await rm(scratch, { recursive: true, force: true });
  });

  const environment = (verb: string, changes: object = {}): Record<string, string> => ({
    CNI_COMMAND: verb,
    CNI_CONTAINERID: 'c1',
    CNI_NETNS: '/var/run/netns/none',
    CNI_IFNAME: 'eth0',
    CNI_PATH: scratch,
    ...changes,
  });

  const config = (address: string | undefined, delegate: object): string =>
    JSON.stringify({
      cniVersion: '1.0.0',
      name: 'pods',
      type: 'static-ip',
      namespaces: ['*'],
      runtimeConfig: {
        [annotationsCapability]: address === undefined ? {} : { [addressAnnotation]: address },
      },
      delegate,
    });

  async function plugin(name: string, script: string): Promise<void> {
    await writeFile(join(scratch, name), `#!/bin/sh\n${script}\n`);
    await chmod(join(scratch, name), 0o755);
  }

  test('gives the delegate the same environment and passes on its stdout and stderr, however long', async () => {
    await plugin(
      'long',
      `cat > ${scratch}/input; env > ${scratch}/environment; echo log >&2; head -c 3000000 /dev/zero | tr '\\0' x`,
    );
    const input = config(undefined, { type: 'long', filler: 'y'.repeat(500_000) });
    const outcome = await runExecutable(built.path, {
      environment: environment('ADD', { CNI_ARGS: 'A=1' }),
      input,
    });
    assert.deepEqual([outcome.code, outcome.stderr, outcome.stdout.length], [0, 'log\n', 3_000_000]);
    const seen = (await readFile(join(scratch, 'environment'), 'utf8')).split('\n');
    for (const [name, value] of Object.entries(environment('ADD', { CNI_ARGS: 'A=1' })))
      assert.ok(seen.includes(`${name}=${value}`), name);
    assert.deepEqual(
      seen.map((line) => line.split('=')[0] ?? '').filter((name) => /BUN|NODE/u.test(name)),
      [],
    );
    const given = JSON.parse(await readFile(join(scratch, 'input'), 'utf8')) as { filler: string };
    assert.equal(given.filler.length, 500_000);
  });

  test('reads no file of the folder that it is started in', async () => {
    const directory = await mkdtemp(join(scratch, 'cwd-'));
    await writeFile(join(directory, '.env'), 'CNI_COMMAND=VERSION\n');
    await writeFile(join(directory, 'bunfig.toml'), 'preload = ["./preload.ts"]\n');
    await writeFile(join(directory, 'preload.ts'), 'process.exit(7);\n');
    const { code, stdout } = await runExecutable(built.path, { directory });
    assert.equal(code, 1);
    assert.match(stdout, /"code":4,"msg":"CNI_COMMAND is missing/u);
  });

  test('a delegate that does not exist or is not a program is an error', async () => {
    const missing = await runExecutable(built.path, {
      environment: environment('ADD'),
      input: config(undefined, { type: 'none' }),
    });
    assert.match(missing.stdout, /"code":7,"msg":"there is no plugin 'none' in /u);
    await writeFile(join(scratch, 'text'), 'no program', { mode: 0o755 });
    const text = await runExecutable(built.path, {
      environment: environment('ADD'),
      input: config(undefined, { type: 'text' }),
    });
    assert.match(text.stdout, /"code":(5|100)/u);
    assert.deepEqual([missing.code, text.code], [1, 1]);
  });

  test('the output of a delegate that does not read stdin is used', async () => {
    await plugin('deaf', 'echo \'{"code":11,"msg":"later"}\'; exit 1');
    const input = config(undefined, { type: 'deaf', filler: 'y'.repeat(1_000_000) });
    const outcome = await runExecutable(built.path, { environment: environment('ADD'), input });
    assert.deepEqual(JSON.parse(outcome.stdout), { cniVersion: '1.0.0', code: 11, msg: 'later' });
  });

  describe("with Debian's host-local", { skip: hostLocalIsMissing }, () => {
    const delegate = (store: string): object => ({
      type: 'host-local',
      ipam: {
        type: 'host-local',
        dataDir: join(scratch, store),
        ranges: [
          [{ subnet: '10.88.0.0/16', rangeStart: '10.88.128.0', rangeEnd: '10.88.128.9' }],
          [{ subnet: 'fd00::/64', rangeStart: 'fd00::1:0', rangeEnd: 'fd00::1:9' }],
        ],
      },
    });
    const run = (verb: string, container: string, store: string, address?: string): Promise<ProcessOutcome> =>
      runExecutable(built.path, {
        environment: environment(verb, { CNI_CONTAINERID: container, CNI_PATH: plugins }),
        input: config(address, delegate(store)),
      });
    const addresses = ({ stdout }: ProcessOutcome): readonly string[] =>
      (JSON.parse(stdout) as { ips: { address: string }[] }).ips.map(({ address }) => address);

    test('a fixed address may be outside the dynamic range, and is free again after DEL', async () => {
      assert.deepEqual(addresses(await run('ADD', 'a', 'kept', '10.88.0.7')), [
        '10.88.0.7/16',
        'fd00::1:0/64',
      ]);
      assert.deepEqual(addresses(await run('ADD', 'b', 'kept')), ['10.88.128.0/16', 'fd00::1:1/64']);
      const taken = await run('ADD', 'c', 'kept', '10.88.0.7');
      assert.equal(taken.code, 1);
      assert.match(taken.stdout, /did not give the fixed address 10\.88\.0\.7: .*not available/u);
      assert.deepEqual(await run('DEL', 'a', 'kept', '10.88.0.7'), { stdout: '', stderr: '', code: 0 });
      assert.deepEqual(addresses(await run('ADD', 'c', 'kept', '10.88.0.7')), [
        '10.88.0.7/16',
        'fd00::1:2/64',
      ]);
    });

    test('both families may be fixed', async () => {
      assert.deepEqual(addresses(await run('ADD', 'a', 'both', 'fd00::7,10.88.0.7')), [
        '10.88.0.7/16',
        'fd00::7/64',
      ]);
      await run('DEL', 'a', 'both');
      await run('DEL', 'a', 'both');
      const leftovers = await readdir(join(scratch, 'both', 'pods'));
      assert.deepEqual(
        leftovers.filter((name) => /^(10|fd00)/u.test(name)),
        [],
      );
    });

    test('no pod gets the address of the gateway', async () => {
      const outcome = await run('ADD', 'a', 'gateway', '10.88.0.1');
      assert.equal(outcome.code, 1);
      assert.match(outcome.stdout, /10\.88\.0\.1 .*gateway/u);
    });
  });
});
