import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { annotation } from '../../cpi/objects/labels.ts';
import { addressAnnotation, annotationsCapability } from './requested-addresses.ts';
import { gave, recordingDelegate, type RecordingDelegate } from '../testing/recording-delegate.ts';
import { answerCall, type PluginAnswer } from './plugin.ts';

const container = {
  CNI_CONTAINERID: 'c1',
  CNI_NETNS: '/var/run/netns/c1',
  CNI_IFNAME: 'eth0',
  CNI_ARGS: 'IgnoreUnknown=1;K8S_POD_NAMESPACE=bosh;K8S_POD_NAME=p',
  CNI_PATH: '/opt/cni/bin:/usr/lib/cni',
};
const hostLocal = {
  type: 'host-local',
  ranges: [[{ subnet: '10.88.0.0/16', rangeStart: '10.88.128.0', rangeEnd: '10.88.255.0' }]],
};
const bridge = { type: 'bridge', bridge: 'cni0', ipam: hostLocal };

const config = (annotations: unknown, changes: object = {}): Record<string, unknown> => ({
  cniVersion: '1.0.0',
  name: 'pods',
  type: 'static-ip',
  namespaces: ['bosh'],
  delegate: bridge,
  ...(annotations !== undefined && { runtimeConfig: { [annotationsCapability]: annotations } }),
  ...changes,
});

const asking = (addresses: string, changes: object = {}): Record<string, unknown> =>
  config({ [addressAnnotation]: addresses }, changes);

function call(
  verb: string,
  input: unknown,
  delegate: RecordingDelegate,
  environment: object = {},
): Promise<PluginAnswer> {
  return answerCall({
    environment: { ...container, CNI_COMMAND: verb, ...environment },
    readInput: () => Promise.resolve(typeof input === 'string' ? input : JSON.stringify(input)),
    run: delegate.run,
  });
}

function assertError({ stdout, exitCode }: PluginAnswer, code: number, message: RegExp): void {
  const error = JSON.parse(stdout) as { cniVersion: string; code: number; msg: string };
  assert.deepEqual([exitCode, error.code], [1, code], stdout);
  assert.match(error.msg, message);
  assert.match(error.cniVersion, /^\d+\.\d+\.\d+$/u);
}

test('the annotation is the one that the CPI writes', () => {
  assert.equal(addressAnnotation, annotation.ipAddress);
});

describe('ADD', () => {
  test('requests the address of the annotation, in the whole subnet, and passes on the result unchanged', async () => {
    const delegate = recordingDelegate(gave('10.88.0.7'));
    const answer = await call('ADD', asking('10.88.0.7'), delegate);
    assert.deepEqual(answer, { stdout: gave('10.88.0.7').stdout, exitCode: 0 });
    assert.deepEqual(delegate.lastConfig(), {
      cniVersion: '1.0.0',
      name: 'pods',
      type: 'bridge',
      bridge: 'cni0',
      ipam: { type: 'host-local', ranges: [[{ subnet: '10.88.0.0/16' }]] },
      runtimeConfig: { ips: ['10.88.0.7'], mac: '0a:58:0a:58:00:07' },
    });
    const [{ type, path, environment } = assert.fail()] = delegate.calls;
    assert.deepEqual([type, path], ['bridge', ['/opt/cni/bin', '/usr/lib/cni']]);
    assert.deepEqual(environment, { ...container, CNI_COMMAND: 'ADD' });
  });

  for (const annotations of [{}, { other: 'x' }, null]) {
    test(`passes the delegate's configuration unchanged for a pod with the annotations ${JSON.stringify(annotations)}`, async () => {
      const delegate = recordingDelegate(gave('10.88.128.1'));
      const answer = await call('ADD', config(annotations), delegate);
      assert.equal(answer.stdout, gave('10.88.128.1').stdout);
      assert.deepEqual(delegate.lastConfig(), { cniVersion: '1.0.0', name: 'pods', ...bridge });
    });
  }

  test('fails if the runtime passes no annotations, names the next step, and does not run the delegate', async () => {
    for (const runtimeConfig of [undefined, null, {}, { portMappings: [] }]) {
      const delegate = recordingDelegate(gave('10.88.128.1'));
      const answer = await call('ADD', config(undefined, { runtimeConfig }), delegate);
      assertError(answer, 101, /passed no pod annotations: declare .*pod-annotations.*containerd.*CRI-O/u);
      assert.equal(delegate.calls.length, 0);
    }
  });

  test('requests an address of each family', async () => {
    const ipam = {
      type: 'host-local',
      ranges: [...hostLocal.ranges, [{ subnet: 'fd00::/64', rangeStart: 'fd00::1000' }]],
    };
    const delegate = recordingDelegate(gave('10.88.0.7', 'fd00::7'));
    const input = asking('10.88.0.7, FD00:0::7', { delegate: { ...bridge, ipam } });
    assert.equal((await call('ADD', input, delegate)).exitCode, 0);
    const { runtimeConfig } = delegate.lastConfig();
    assert.deepEqual(runtimeConfig, { ips: ['10.88.0.7', 'fd00::7'], mac: '0a:58:0a:58:00:07' });
  });

  test('rejects an annotation without valid addresses', async () => {
    for (const text of [
      '',
      '10.88.0',
      '10.88.0.7/16',
      '10.88.0.7,10.88.0.8',
      '10.88.0.7,',
      'fe80::1%eth0',
      'pod',
      '\0',
    ]) {
      const delegate = recordingDelegate(gave('10.88.0.7'));
      assertError(
        await call('ADD', asking(text), delegate),
        102,
        /annotation bosh\.cloudfoundry\.org\/ip-address is/u,
      );
      assert.equal(delegate.calls.length, 0);
    }
  });

  test("passes on the delegate's error with its code, and names the address", async () => {
    const taken = {
      code: 999,
      msg: 'requested IP address 10.88.0.7 is not available',
      details: 'in range set',
    };
    const delegate = recordingDelegate({
      exit: 1,
      stdout: JSON.stringify({ cniVersion: '1.0.0', ...taken }),
    });
    const { stdout, exitCode } = await call('ADD', asking('10.88.0.7'), delegate);
    assert.deepEqual(JSON.parse(stdout), {
      cniVersion: '1.0.0',
      ...taken,
      msg: `the plugin 'bridge' did not give the fixed address 10.88.0.7: ${taken.msg}`,
    });
    assert.equal(exitCode, 1);
  });

  test('a delegate that exits without a CNI error is an error of static-ip', async () => {
    assertError(
      await call('ADD', config({}), recordingDelegate({ exit: 'SIGKILL', stdout: '' })),
      100,
      /'bridge' ended by SIGKILL/u,
    );
    assertError(
      await call('ADD', config({}), recordingDelegate({ exit: 2, stdout: 'panic' })),
      100,
      /exit code 2/u,
    );
  });

  test('a delegate that gave another address has its work undone', async () => {
    const delegate = recordingDelegate(gave('10.88.128.1'), { exit: 0, stdout: '' });
    const answer = await call('ADD', asking('10.88.0.7'), delegate);
    assertError(answer, 103, /gave 10\.88\.128\.1 instead of 10\.88\.0\.7/u);
    assert.deepEqual(
      delegate.calls.map(({ environment }) => environment['CNI_COMMAND']),
      ['ADD', 'DEL'],
    );
    assert.ok('prevResult' in delegate.lastConfig());
  });

  test('reports a failed undo in the details', async () => {
    const delegate = recordingDelegate(
      { exit: 0, stdout: 'nothing' },
      { exit: 1, stdout: '{"code":5,"msg":"stuck"}' },
    );
    const { stdout } = await call('ADD', asking('10.88.0.7'), delegate);
    const { code, details } = JSON.parse(stdout) as { code: number; details: string };
    assert.deepEqual([code, details], [103, 'DEL after the failed ADD failed, too: stuck']);
  });
});

describe('the method by which the delegate gets the address', () => {
  test('calico-ipam reads CNI_ARGS', async () => {
    const delegate = recordingDelegate(gave('10.1.0.7'));
    const input = asking('10.1.0.7', { delegate: { type: 'calico', ipam: { type: 'calico-ipam' } } });
    assert.equal(
      (await call('ADD', input, delegate, { CNI_ARGS: 'K8S_POD_NAMESPACE=bosh;IP=1.1.1.1' })).exitCode,
      0,
    );
    assert.equal(
      delegate.calls[0]?.environment['CNI_ARGS'],
      'IgnoreUnknown=1;K8S_POD_NAMESPACE=bosh;IP=10.1.0.7',
    );
    assert.equal(delegate.lastConfig()['runtimeConfig'], undefined);
  });

  test('CNI_ARGS takes one address only', async () => {
    const input = asking('10.1.0.7,fd00::7', { delegate: { type: 'calico', ipam: { type: 'calico-ipam' } } });
    assertError(
      await call('ADD', input, recordingDelegate(gave('10.1.0.7'))),
      102,
      /CNI_ARGS, which can have one address only/u,
    );
  });

  test('uses the method of the configuration, and keeps other args', async () => {
    const delegate = recordingDelegate(gave('10.88.0.7'));
    const input = asking('10.88.0.7', { request: 'args.cni.ips', args: { cni: { labels: [] }, other: 1 } });
    assert.equal((await call('ADD', input, delegate)).exitCode, 0);
    assert.deepEqual(delegate.lastConfig()['args'], { cni: { labels: [], ips: ['10.88.0.7'] }, other: 1 });
    assertError(
      await call('ADD', asking('10.88.0.7', { request: 'prayer' }), delegate),
      7,
      /'request' must be one of/u,
    );
  });
});

test('the delegate gets the capabilities that it declares, and no others', async () => {
  const delegate = recordingDelegate(gave('10.88.128.1'));
  const input = config(undefined, {
    runtimeConfig: { [annotationsCapability]: {}, bandwidth: { ingressRate: 1 }, dns: {} },
    delegate: { ...bridge, capabilities: { bandwidth: true, dns: false } },
  });
  await call('ADD', input, delegate);
  assert.deepEqual(delegate.lastConfig()['runtimeConfig'], { bandwidth: { ingressRate: 1 } });
});

describe('DEL, CHECK, GC, STATUS', () => {
  const prevResult = { cniVersion: '1.1.0', ips: [{ address: '10.88.0.7/16' }] };

  test('DEL needs neither annotations, nor a result, nor a namespace', async () => {
    const delegate = recordingDelegate({ exit: 0, stdout: '' });
    const answer = await call('DEL', config(undefined), delegate, { CNI_NETNS: '' });
    assert.deepEqual(answer, { stdout: '', exitCode: 0 });
    assert.deepEqual(delegate.lastConfig(), { cniVersion: '1.0.0', name: 'pods', ...bridge });
  });

  test('CHECK compares the result with the annotation and asks the delegate', async () => {
    const delegate = recordingDelegate({ exit: 0, stdout: '' });
    assert.equal((await call('CHECK', asking('10.88.0.7', { prevResult }), delegate)).exitCode, 0);
    assert.deepEqual(delegate.lastConfig()['prevResult'], prevResult);
    assertError(
      await call('CHECK', asking('10.88.0.8', { prevResult }), delegate),
      103,
      /requests 10\.88\.0\.8 and has 10\.88\.0\.7/u,
    );
    assertError(await call('CHECK', asking('10.88.0.7'), delegate), 7, /needs a prevResult/u);
  });

  test('GC passes on which attachments are valid', async () => {
    const delegate = recordingDelegate({ exit: 0, stdout: '' });
    const valid = { 'cni.dev/valid-attachments': [{ containerID: 'c1', ifname: 'eth0' }] };
    const environment = { CNI_CONTAINERID: undefined, CNI_IFNAME: undefined, CNI_NETNS: undefined };
    const answer = await call(
      'GC',
      config(undefined, { cniVersion: '1.1.0', ...valid }),
      delegate,
      environment,
    );
    assert.equal(answer.exitCode, 0);
    assert.deepEqual(delegate.lastConfig(), { cniVersion: '1.1.0', name: 'pods', ...bridge, ...valid });
  });

  test("STATUS is the delegate's", async () => {
    const input = config(undefined, { cniVersion: '1.1.0' });
    assert.equal((await call('STATUS', input, recordingDelegate({ exit: 0, stdout: '' }))).exitCode, 0);
    const limited = recordingDelegate({ exit: 1, stdout: '{"code":51,"msg":"no more"}' });
    assertError(await call('STATUS', input, limited), 51, /no more/u);
  });

  test('a verb that the version of the configuration does not have is rejected', async () => {
    const delegate = recordingDelegate({ exit: 0, stdout: '' });
    assertError(
      await call('CHECK', config({}, { cniVersion: '0.3.1', prevResult }), delegate),
      1,
      /no CHECK in version 0\.3\.1/u,
    );
    for (const verb of ['GC', 'STATUS'])
      assertError(await call(verb, config({}), delegate), 1, /was added in 1\.1\.0/u);
  });
});

test('VERSION responds in the version of the request', async () => {
  const delegate = recordingDelegate();
  const environment = { CNI_PATH: '', CNI_CONTAINERID: '', CNI_IFNAME: '' };
  const { stdout } = await call('VERSION', '{"cniVersion":"0.4.0"}', delegate, environment);
  assert.deepEqual(JSON.parse(stdout), {
    cniVersion: '0.4.0',
    supportedVersions: ['0.3.0', '0.3.1', '0.4.0', '1.0.0', '1.1.0'],
  });
  assert.match((await call('VERSION', '', delegate, environment)).stdout, /"cniVersion":"1\.1\.0"/u);
});

test('an invalid call is an error with the code of the spec', async () => {
  const delegate = recordingDelegate(gave('10.88.0.7'));
  const wrong: readonly (readonly [unknown, object, number, RegExp])[] = [
    [config({}), { CNI_COMMAND: undefined }, 4, /CNI_COMMAND is missing/u],
    [config({}), { CNI_COMMAND: 'add' }, 4, /CNI_COMMAND is "add"/u],
    [config({}), { CNI_NETNS: '', CNI_PATH: undefined }, 4, /ADD needs CNI_NETNS, CNI_PATH/u],
    [config({}), { CNI_CONTAINERID: '../x' }, 4, /CNI_CONTAINERID/u],
    [config({}), { CNI_IFNAME: 'a-name-far-too-long' }, 4, /CNI_IFNAME/u],
    ['', {}, 6, /not a JSON object/u],
    ['[]', {}, 6, /not a JSON object/u],
    ['['.repeat(200_000), {}, 6, /not a JSON object/u],
    [config({}, { cniVersion: '0.2.0' }), {}, 1, /cniVersion is "0\.2\.0"/u],
    [config({}, { cniVersion: undefined }), {}, 1, /cniVersion is missing/u],
    [config({}, { name: '../pods' }), {}, 7, /network's name/u],
    [config({}, { delegate: undefined }), {}, 7, /has no 'delegate'/u],
    [config({}, { delegate: { type: '../bridge' } }), {}, 7, /must be the name of a plugin/u],
    [config({}, { delegate: { type: 'static-ip' } }), {}, 7, /static-ip itself/u],
    [config({}, { runtimeConfig: [] }), {}, 7, /runtimeConfig/u],
    [config([]), {}, 7, /pod-annotations'\] is not an object/u],
    [
      asking('10.88.0.7', { delegate: { ...bridge, ipam: { ...hostLocal, ranges: [[{}]] } } }),
      {},
      7,
      /ranges of host-local/u,
    ],
    [asking('10.9.0.7'), {}, 102, /10\.9\.0\.7 is in none of the subnets.*10\.88\.0\.0\/16/u],
  ];
  for (const [input, environment, code, message] of wrong)
    assertError(await call('ADD', input, delegate, environment), code, message);
  assert.equal(delegate.calls.length, 0);
});

test('stdin that cannot be read is an error too', async () => {
  const answer = await answerCall({
    environment: { ...container, CNI_COMMAND: 'ADD' },
    readInput: () => Promise.reject(new Error('EBADF')),
    run: recordingDelegate().run,
  });
  assertError(answer, 5, /EBADF/u);
});
