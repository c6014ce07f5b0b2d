import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe } from 'node:test';
import type { CpiResponse } from '../../src/cpi/protocol/protocol.ts';
import { assertOneRecord, runCpi, type Outcome } from '../cpi/artefact.ts';
import { checkout } from '../support/embedded-environment.ts';
import { clause, skipHere } from './clause.ts';
import { nowhere, soon } from './foreign-access.ts';
import { World } from './world.ts';

const cpi = { name: 'executable', command: [join(checkout, 'dist', 'cpi', 'cpi')] };
const plain = { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', TMPDIR: '/tmp', HOME: '/nonexistent' };

describe('envelope', () => {
  let world: World;
  let config: string;
  before(async () => {
    world = await World.open();
    config = join(world.directory, 'cpi.json');
    await writeFile(config, JSON.stringify(world.settings), { mode: 0o600 });
  });
  after(() => world.close());

  const request = (method: string, args: unknown = [], more: object = {}): string =>
    JSON.stringify({ method, arguments: args, context: {}, api_version: 2, ...more });
  const hasNoVm = request('has_vm', ['vm-none']);

  async function run(input: string, environment: NodeJS.ProcessEnv = plain): Promise<Outcome> {
    return runCpi(cpi, input, { config, environment });
  }

  async function answer(input: string): Promise<CpiResponse> {
    return JSON.parse((await run(input)).stdout) as CpiResponse;
  }

  clause('1a', async () => {
    for (const input of [
      hasNoVm,
      `${hasNoVm}\n`,
      `\n  ${hasNoVm}\n\n`,
      '{"context":{},"unknown":[1],"api_version":2,"arguments":["vm-none"],"method":"has_vm"}',
    ]) {
      assert.deepEqual(await answer(input), { result: false, error: null, log: '' });
    }
  });

  clause('2a', async () => {
    const wrong = request('has_vm', [17]);
    for (const input of [hasNoVm, request('info'), request('nonsense'), wrong, '', '{', 'null']) {
      const { stdout } = await run(input);
      assert.equal(typeof (JSON.parse(stdout) as object), 'object', stdout);
    }
  });

  clause('3a', async () => {
    for (const input of [hasNoVm, request('info'), request('nonsense'), '{']) {
      assert.deepEqual(Object.keys(await answer(input)).toSorted(), ['error', 'log', 'result']);
    }
  });

  clause('3b', async () => {
    for (const input of [hasNoVm, request('info'), '{'])
      assert.equal(typeof (await answer(input)).log, 'string');
  });

  clause('3c', async () => {
    for (const input of [request('nonsense'), request('create_disk', [-1, {}, null]), '{']) {
      const { error } = await answer(input);
      assert.deepEqual(
        [typeof error?.type, typeof error?.message, typeof error?.ok_to_retry],
        ['string', 'string', 'boolean'],
      );
    }
  });

  clause('4a', async () => {
    for (const input of [hasNoVm, request('nonsense'), '{']) assert.equal((await run(input)).code, 0);
  });

  clause('5a', async () => {
    for (const input of [
      ...['', '{', '[]', '"has_vm"', '{}', '{"method":7,"arguments":[]}', '{"method":"","arguments":[]}'],
      ...['{"method":"has_vm","arguments":{}}', '{"method":"has_vm","arguments":"x"}', '\u0000\u0001'],
    ]) {
      const { error } = await answer(input);
      assert.ok(error !== null, input);
      assert.doesNotMatch(error.message, /\n *at |\.ts:|\.js:/u);
    }
  });

  clause('6a', async () => {
    for (const method of ['nonsense', 'ping', 'constructor', '__proto__', 'Create_VM']) {
      assert.equal((await answer(request(method))).error?.type, 'Bosh::Clouds::NotImplemented', method);
    }
  });

  clause('7a', async () => {
    for (const environment of [plain, { PATH: plain.PATH }, {}]) {
      const { stdout, stderr } = await run(hasNoVm, environment);
      assert.deepEqual(JSON.parse(stdout), { result: false, error: null, log: '' });
      assert.equal(assertOneRecord(stderr).result, 'ok');
    }
  });

  clause('7b', async (t) => {
    if (process.getuid?.() !== 0) {
      skipHere(t, '7b');
      return;
    }
    const readOnly = `mount -o remount,bind,ro / && mount --rbind -o ro /tmp /tmp && mount -o remount,bind,ro /tmp &&
      ! touch /tmp/x 2>/dev/null && exec "$0" "$1"`;
    const child = spawn(
      'unshare',
      ['--mount', '--propagation', 'private', '/bin/sh', '-c', readOnly, cpi.command[0] ?? '', config],
      { stdio: ['pipe', 'pipe', 'pipe'], env: plain },
    );
    child.stdin.end(hasNoVm);
    const outcome = await collect(child);
    assert.equal(outcome.stdout, '{"result":false,"error":null,"log":""}\n', outcome.stderr);
  });

  clause('8a', async () => {
    const agentId = randomUUID();
    const args = world.vmArguments({ agentId });
    for (const signal of ['SIGTERM', 'SIGPIPE'] as const) {
      const child = spawn(cpi.command[0] ?? '', [config], { stdio: ['pipe', 'pipe', 'ignore'], env: plain });
      const ended = new Promise((resolve) => child.on('close', resolve));
      child.stdin.end(request('create_vm', args));
      setTimeout(() => (signal === 'SIGTERM' ? child.kill(signal) : child.stdout.destroy()), 60);
      await ended;
    }
    const [cid] = await world.call<[string]>('create_vm', ...args);
    assert.deepEqual((await world.objects()).vms, [cid]);
    await world.call('delete_vm', cid);
  });

  clause('9a', async () => {
    const secret = 'S3CRET-OF-THE-TEST';
    const env = { bosh: { password: secret, mbus: { cert: { private_key: secret } } } };
    const broken = {
      ...nowhere,
      users: [{ name: 'nobody', user: { token: secret } }],
    };
    const context = {
      kubernetes: { kubeconfig: broken },
      deadlines: soon,
      agent: { mbus: `https://mbus:${secret}@0.0.0.0:6868` },
    };
    for (const [method, args] of [
      ['create_vm', world.vmArguments({ env, properties: { no_such_key: 1 } })],
      ['create_vm', world.vmArguments({ env })],
      ['create_vm', [secret, world.target.stemcell, {}, {}, [], env]],
      ['has_vm', ['vm-none']],
    ] as const) {
      const outcome = await run(request(method, args, { context }));
      assert.match(outcome.stdout, /"error":\{/u);
      if (method !== 'create_vm' || args[0] !== secret) {
        assert.ok(!`${outcome.stdout}${outcome.stderr}`.includes(secret), outcome.stdout);
      }
    }
  });

  clause('10a', async () => {
    for (const input of [hasNoVm, request('nonsense'), request('info'), '{']) {
      assertOneRecord((await run(input)).stderr);
    }
  });

  clause('11a', async () => {
    const broken = join(world.directory, 'broken.json');
    await writeFile(broken, '{');
    const unreachable = join(world.directory, 'unreachable.json');
    await writeFile(unreachable, JSON.stringify({ kubernetes: { kubeconfig: nowhere } }));
    for (const options of [{}, { config: '/nonexistent' }, { config: broken }, { config: unreachable }]) {
      const { stdout } = await runCpi(cpi, request('info'), options);
      assert.equal((JSON.parse(stdout) as CpiResponse).error, null);
    }
  });

  clause('11b', async () => {
    const { result } = await answer('{"method":"info","arguments":[],"context":{}}');
    const { api_version: version, stemcell_formats: formats } = result as Record<string, unknown>;
    assert.equal(version, 3);
    assert.ok(Array.isArray(formats) && formats.length > 0);
  });

  clause('13a', async () => {
    for (const version of [1, 4, 99]) {
      const { error } = await answer(request('has_vm', ['vm-none'], { api_version: version }));
      assert.equal(error?.type, 'Bosh::Clouds::NotSupported');
    }
    assert.equal((await answer('{"method":"has_vm","arguments":["vm-none"],"context":{}}')).error, null);
  });

  clause('14a', async () => {
    const cid = await world.newVm();
    const context = { kubernetes: { namespace: world.otherNamespace } };
    assert.equal((await answer(request('has_vm', [cid]))).result, true);
    assert.equal((await answer(request('has_vm', [cid], { context }))).result, false);
    const elsewhere = { kubernetes: { kubeconfig: nowhere }, deadlines: soon };
    assert.ok((await answer(request('has_vm', [cid], { context: elsewhere }))).error !== null);
    // and the reverse: a configuration that reaches no server, credentials in the context
    const lost = { ...world.settings['kubernetes'], ...elsewhere.kubernetes };
    await writeFile(config, JSON.stringify({ ...world.settings, kubernetes: lost }), { mode: 0o600 });
    const { kubeconfig } = world.settings['kubernetes'] ?? {};
    const found = await answer(request('has_vm', [cid], { context: { kubernetes: { kubeconfig } } }));
    assert.deepEqual([found.result, found.error], [true, null]);
    await writeFile(config, JSON.stringify(world.settings), { mode: 0o600 });
    await world.call('delete_vm', cid);
  });

  clause('14b', async () => {
    const context = { director_uuid: 'd', request_id: 'cpi-1', vm: {}, anything: { else: [1] }, region: 'x' };
    assert.equal((await answer(request('has_vm', ['vm-none'], { context }))).error, null);
  });

  clause('14c', async () => {
    for (const context of [{}, { vm: null }, { vm: { stemcell: { api_version: 3 } } }, null]) {
      assert.equal((await answer(request('has_vm', ['vm-none'], { context }))).error, null);
    }
  });
});

async function collect(child: ReturnType<typeof spawn>): Promise<{ stdout: string; stderr: string }> {
  let [stdout, stderr] = ['', ''];
  child.stdout?.on('data', (data: Buffer) => (stdout += data.toString()));
  child.stderr?.on('data', (data: Buffer) => (stderr += data.toString()));
  await new Promise((resolve) => child.on('close', resolve));
  return { stdout, stderr };
}
