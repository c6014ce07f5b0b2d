import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Container, ContainerState, Pod, PodSpec } from '../../../src/kubernetes/types/pod.ts';
import { ManualClock } from '../../../src/kubernetes/testing/manual-clock.ts';
import { hostRootImage } from '../node-object.ts';
import { BackOff, restartLimits } from './back-off.ts';
import { restoreState, type ContainerRecord } from './container-state.ts';
import { containerPlan, Expansion } from './container-plan.ts';
import { listeningAddresses, isPodAddress, PodAddresses } from './pod-addresses.ts';
import { PodEnding } from './pod-termination.ts';
import { podPhase, podStatus } from './pod-status.ts';
import { findUnsupported } from './unsupported.ts';

const running: ContainerState = { running: { startedAt: '2026-01-01T00:00:00Z' } };
const waiting: ContainerState = { waiting: { reason: 'ContainerCreating' } };
const ended = (exitCode: number): ContainerState => ({ terminated: { exitCode } });

const record = (state: ContainerState, changes: Partial<ContainerRecord> = {}): ContainerRecord => ({
  ...{ name: 'main', image: hostRootImage, init: false, restartCount: 0 },
  ...{ containerId: undefined, state, lastState: undefined },
  ...changes,
});

const podWith = (spec: Partial<PodSpec>, metadata: object = {}): Pod => ({
  metadata: { name: 'p', namespace: 'n', ...metadata },
  spec: { containers: [{ name: 'main', image: hostRootImage, command: ['true'] }], ...spec },
});

test('the phase follows the containers and the restart policy', () => {
  const cases: [NonNullable<PodSpec['restartPolicy']>, ContainerRecord[], string][] = [
    ['Always', [record(waiting)], 'Pending'],
    ['Always', [record(running)], 'Running'],
    ['Always', [record(ended(1))], 'Running'],
    ['Always', [record(waiting, { lastState: ended(1) })], 'Running'],
    ['OnFailure', [record(ended(1))], 'Running'],
    ['OnFailure', [record(ended(0))], 'Succeeded'],
    ['Never', [record(ended(0)), record(ended(2))], 'Failed'],
    ['Never', [record(ended(0)), record(running)], 'Running'],
    ['Always', [record(running, { init: true }), record(waiting)], 'Pending'],
    ['Never', [record(ended(1), { init: true }), record(waiting)], 'Failed'],
    ['Always', [record(ended(1), { init: true }), record(waiting)], 'Pending'],
  ];
  for (const [restartPolicy, records, phase] of cases) {
    assert.equal(
      podPhase(podWith({ restartPolicy }), records),
      phase,
      JSON.stringify([restartPolicy, records]),
    );
  }
  const deleted = podWith({}, { deletionTimestamp: '2026-01-01T00:00:00Z' });
  assert.equal(podPhase(deleted, [record(ended(0))]), 'Succeeded');
  assert.equal(podPhase(deleted, [record(ended(137))]), 'Failed');
});

test('a condition keeps its time while it is unchanged, and conditions of other writers stay', () => {
  const pod = podWith({});
  const facts = { startTime: 't0', podIp: '127.64.0.2', sandboxReady: true, failure: undefined };
  const scheduled = { type: 'PodScheduled', status: 'True' as const };
  const first = podStatus({ ...pod, status: { conditions: [scheduled] } }, [record(waiting)], facts, 't1');
  const second = podStatus({ ...pod, status: first }, [record(running)], facts, 't2');
  const third = podStatus({ ...pod, status: second }, [record(running)], facts, 't3');
  const ready = third.conditions?.find((condition) => condition.type === 'Ready');
  assert.deepEqual([ready?.status, ready?.lastTransitionTime], ['True', 't2']);
  assert.ok(third.conditions?.some((condition) => condition.type === 'PodScheduled'));
  const before = first.conditions?.find((condition) => condition.type === 'Ready');
  assert.match(before?.message ?? '', /unready status: \[main\]/);
});

test('a container of an earlier run counts as restarted, and its exit is unknown', () => {
  const container = { name: 'main', image: hostRootImage };
  const previous = {
    containerStatuses: [
      {
        ...{ name: 'main', image: '', imageID: '', ready: true, restartCount: 2 },
        containerID: 'embedded://1',
        state: running,
      },
    ],
  };
  const again = restoreState(container, false, previous, 't1');
  assert.equal(again.restartCount, 3);
  assert.equal(again.lastState?.terminated?.exitCode, 255);
  assert.equal(restoreState(container, false, undefined, 't1').restartCount, 0);
});

test('restarts back off from ten seconds to five minutes and are reset after ten quiet minutes', () => {
  const backOff = new BackOff(restartLimits);
  let now = 0;
  const delays = Array.from({ length: 8 }, () => {
    const delay = backOff.nextDelay(now);
    now += delay + 1000;
    return delay / 1000;
  });
  assert.deepEqual(delays, [0, 10, 20, 40, 80, 160, 300, 300]);
  assert.equal(backOff.nextDelay(now + 601_000 + 300_000), 0);
});

test('an address is assigned once and can be released', () => {
  const addresses = new PodAddresses();
  assert.equal(addresses.reserve('127.64.0.10', 'a').owner, 'a');
  assert.equal(addresses.reserve('127.64.0.10', 'b').owner, 'a');
  const free = addresses.allocate('b');
  assert.ok(isPodAddress(free));
  assert.notEqual(addresses.allocate('c'), free);
  addresses.release('a');
  assert.equal(addresses.reserve('127.64.0.10', 'b').owner, 'b');
  for (const address of ['127.0.0.1', '127.128.0.1', '10.0.0.1', 'x', '127.63.255.255']) {
    assert.equal(isPodAddress(address), false, address);
  }
});

test('addresses on which something listens are read from the kernel', () => {
  const text = [
    '  sl  local_address rem_address   st tx_queue',
    '   0: 0A00407F:1AD4 00000000:0000 0A 00000000:00000000',
    '   1: 0B00407F:1AD4 0100007F:9C40 01 00000000:00000000',
    '',
  ].join('\n');
  assert.deepEqual([...listeningAddresses(text)], ['127.64.0.10']);
});

test('variables in commands are expanded as in Kubernetes', () => {
  const variables = new Map([['A', '1']]);
  const expanded = new Expansion().expand('$(A) $$(A) $(B) $A $(A $', variables, 'a word');
  assert.equal(expanded, '1 $(A) $(B) $A $(A $');
});

test('expanded variables are limited to the size of program arguments, for each argument and for all together', () => {
  const planOf = (container: Partial<Container>): { words: number; longest: number } => {
    const whole = { name: 'main', image: hostRootImage, command: ['true'], ...container };
    const context = { hostname: 'h', address: '127.64.0.2', volumes: new Map(), namespaces: undefined };
    const run = { id: '1', terminationMessage: '/t' };
    const { command, environment } = containerPlan(podWith({ containers: [whole] }), whole, context, run);
    const lengths = [...command, ...environment.values()].map((word) => word.length);
    return { words: lengths.length, longest: Math.max(...lengths) };
  };
  const tenfold = (name: string): string => `$(${name})`.repeat(10);
  const grown = ['B', 'C', 'D', 'E'].map((name, index) => ({ name, value: tenfold('ABCD'.charAt(index)) }));
  const env = [{ name: 'A', value: 'x'.repeat(10) }, ...grown];
  assert.deepEqual(planOf({ env }), { words: 9, longest: 100_000 });
  const more = [...env, { name: 'F', value: tenfold('E') }];
  assert.throws(() => planOf({ env: more }), /the environment variable F would be longer than 131071 bytes/);
  assert.throws(
    () => planOf({ env, args: ['a', tenfold('E')] }),
    /word 3 of the command would be longer than/,
  );
  const wide = [{ name: 'A', value: 'ä'.repeat(65_536) }];
  assert.throws(() => planOf({ env: wide }), /the environment variable A would be longer than 131071 bytes/);
  const again = Array.from({ length: 22 }, () => ({ name: 'G', value: '$(E)' }));
  assert.throws(() => planOf({ env: [...env, ...again] }), /environment and command .* 2097152 bytes/);
  assert.throws(
    () => planOf({ env, args: Array<string>(22).fill('$(E)') }),
    /environment and command .* 2097152/,
  );
});

test('a pod that the node cannot run as written is refused with the reason', () => {
  const refused = (changes: Partial<Container>): string =>
    findUnsupported(
      podWith({
        containers: [{ name: 'main', image: hostRootImage, command: ['true'], ...changes }],
      }),
      [{ first: 0, count: 1 }],
    ) ?? '';
  assert.equal(refused({}), '');
  assert.match(refused({ resources: { limits: { cpu: '1' } } }), /limits/);
  assert.match(refused({ tty: true }), /terminal/);
  assert.match(refused({ command: [] }), /no command/);
  assert.match(refused({ ports: [{ containerPort: 1, hostPort: 1 }] }), /hostPort/);
  assert.match(refused({ securityContext: { runAsUser: 1000 } }), /subordinate ids/);
  const bidirectional = {
    volumeMounts: [{ name: 'v', mountPath: '/v', mountPropagation: 'Bidirectional' as const }],
  };
  assert.match(refused(bidirectional), /privileged/);
  assert.match(refused({ ...bidirectional, securityContext: { privileged: true } }), /hostPID/);
});

test("the deadline of a pod moves only earlier, and may be longer than a timer's maximum", async () => {
  const clock = new ManualClock(0);
  const ending = new PodEnding(clock);
  ending.request('deleted', 365 * 86_400_000);
  assert.equal(ending.remaining, 365 * 86_400_000);
  let over = false;
  const done = ending.graceElapsed(new AbortController().signal).then(() => (over = true));
  ending.request('deleted', 2_000);
  ending.request('deleted', 5_000);
  await Promise.resolve();
  clock.advance(1_999);
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(over, false);
  clock.advance(1);
  await done;
  assert.equal(ending.remaining, 0);
});
