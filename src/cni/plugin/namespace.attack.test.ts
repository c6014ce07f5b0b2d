import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addressAnnotation, annotationsCapability } from './requested-addresses.ts';
import { type RecordingDelegate, gave, recordingDelegate } from '../testing/recording-delegate.ts';
import { type PluginAnswer, answerCall } from './plugin.ts';

interface Attempt {
  readonly delegate: RecordingDelegate;
  /** CNI_ARGS as the runtime passes it. */
  readonly args: string | undefined;
  readonly annotations?: object;
  readonly namespaces?: unknown;
  readonly verb?: string;
}

const asking = { [addressAnnotation]: '10.88.0.7' };

function attempt({
  delegate,
  args,
  annotations = asking,
  namespaces,
  verb = 'ADD',
}: Attempt): Promise<PluginAnswer> {
  const config = {
    ...{ cniVersion: '1.0.0', name: 'pods', type: 'static-ip', namespaces },
    delegate: { type: 'bridge', ipam: { type: 'host-local', subnet: '10.88.0.0/16' } },
    runtimeConfig: { [annotationsCapability]: annotations },
  };
  return answerCall({
    environment: {
      ...{ CNI_COMMAND: verb, CNI_CONTAINERID: 'c1', CNI_NETNS: '/n', CNI_IFNAME: 'eth0', CNI_PATH: '/p' },
      CNI_ARGS: args,
    },
    readInput: () => Promise.resolve(JSON.stringify(config)),
    run: delegate.run,
  });
}

const ofPod = (namespace: string): string => `IgnoreUnknown=1;K8S_POD_NAMESPACE=${namespace};K8S_POD_NAME=p`;

test("a pod of another namespace that requests a VM's address is rejected, and gets no interface", async () => {
  const attempts: readonly [args: string | undefined, namespaces: unknown, code: number, message: RegExp][] =
    [
      [
        ofPod('mallory'),
        ['bosh'],
        104,
        /pod of the namespace mallory requests 10\.88\.0\.7 .* lists bosh: remove/u,
      ],
      [ofPod('mallory'), undefined, 104, /lists none/u],
      [ofPod('mallory'), [], 104, /lists none/u],
      [ofPod('bosh-2'), ['bosh', 'cf'], 104, /namespace bosh-2 requests .* lists bosh, cf/u],
      [ofPod(''), ['bosh'], 104, /of the namespace {2}requests/u],
      [undefined, ['bosh'], 104, /whose namespace the runtime does not pass/u],
      ['K8S_POD_NAME=p', ['bosh'], 104, /whose namespace the runtime does not pass/u],
      [`${ofPod('bosh')};${ofPod('mallory')}`, ['bosh'], 104, /whose namespace the runtime does not pass/u],
      ['XK8S_POD_NAMESPACE=bosh', ['bosh'], 104, /whose namespace the runtime does not pass/u],
      [ofPod('mallory'), 'mallory', 7, /must be a list of names of namespaces/u],
      [ofPod('mallory'), [['mallory']], 7, /must be a list of names of namespaces/u],
    ];
  for (const [args, namespaces, code, message] of attempts) {
    const delegate = recordingDelegate(gave('10.88.0.7'));
    const { stdout, exitCode } = await attempt({ delegate, args, namespaces });
    const error = JSON.parse(stdout) as { code: number; msg: string };
    assert.deepEqual([exitCode, error.code], [1, code], stdout);
    assert.match(error.msg, message);
    assert.equal(delegate.calls.length, 0);
  }
});

test('a pod of a listed namespace gets the address, and one that requests none is not checked', async () => {
  for (const namespaces of [['bosh'], ['cf', 'bosh'], ['*']]) {
    const delegate = recordingDelegate(gave('10.88.0.7'));
    assert.equal((await attempt({ delegate, args: ofPod('bosh'), namespaces })).exitCode, 0);
  }
  const delegate = recordingDelegate(gave('10.88.128.1'));
  assert.equal((await attempt({ delegate, args: ofPod('mallory'), annotations: {} })).exitCode, 0);
});

test('an existing pod can be deleted, whatever its namespace is', async () => {
  const delegate = recordingDelegate({ exit: 0, stdout: '' });
  assert.equal(
    (await attempt({ delegate, args: ofPod('mallory'), namespaces: ['bosh'], verb: 'DEL' })).exitCode,
    0,
  );
  assert.equal(delegate.calls.length, 1);
});
