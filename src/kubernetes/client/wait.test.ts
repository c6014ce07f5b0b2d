import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { isProductError, ProductError } from '../../errors/product-error.ts';
import { ApiError, isApiError } from './api-error.ts';
import type { KubernetesApi, WatchEvent, WatchQuery } from '../api.ts';
import type { KubernetesObject } from '../object.ts';
import { pods } from '../resources.ts';
import { ManualClock } from '../testing/manual-clock.ts';
import { unreachableError } from './transport.ts';
import { waitFor } from './wait.ts';

const reference = { resource: pods, namespace: 'bosh', name: 'vm-1' };
const unused = (): never => {
  throw new Error('not part of a wait');
};

function silentApi(items: KubernetesObject[], events: WatchEvent<KubernetesObject>[] = []): KubernetesApi {
  return {
    get: unused,
    create: unused,
    dryRunCreate: unused,
    replace: unused,
    patch: unused,
    delete: unused,
    groups: unused,
    list: () =>
      Promise.resolve({
        apiVersion: 'v1',
        kind: 'PodList',
        metadata: { resourceVersion: '1' },
        items: items as never[],
      }),
    watch: async function* <T extends KubernetesObject>(_resource: unknown, query: WatchQuery = {}) {
      yield* events as WatchEvent<T>[];
      await new Promise((resolve) => query.signal?.addEventListener('abort', resolve));
    },
  };
}

test('the deadline says what, how long and the last words', async () => {
  const clock = new ManualClock();
  const waiting = waitFor<KubernetesObject, true>({
    api: silentApi([{ metadata: { name: 'vm-1' } }]),
    reference,
    awaited: 'pod bosh/vm-1 to become ready',
    deadlineMs: 120_000,
    condition: () => undefined,
    describeState: (last) => `${last?.metadata.name ?? ''} is ImagePullBackOff`,
    clock,
  });
  clock.advance(120_000);

  await assert.rejects(waiting, (error) => {
    assert.ok(isProductError(error, 'DEADLINE'));
    assert.equal(
      error.message,
      'waited 120 s for pod bosh/vm-1 to become ready; last known: vm-1 is ImagePullBackOff',
    );
    return true;
  });
  assert.deepEqual(clock.pending, []);
});

test('what is waited for is said after five seconds and when it changes, without what to do at the deadline', async () => {
  const clock = new ManualClock();
  const lines: string[] = [];
  const states = ['a (x1)', 'a (x2)', 'b\nb', 'b b'];
  const waiting = waitFor<KubernetesObject, true>({
    api: silentApi([{ metadata: { name: 'vm-1' } }]),
    reference,
    awaited: 'pod vm-1 to run',
    deadlineMs: 25_000,
    condition: () => undefined,
    describeState: () => ({ state: states.shift() ?? 'late', next: 'repeat the call' }),
    onProgress: (line) => lines.push(line),
    clock,
  });
  for (let looks = 0; looks < 4; looks += 1) {
    clock.advance(5_000);
    await setImmediate();
  }
  const { length } = lines;
  clock.advance(5_000);
  await assert.rejects(waiting, /; last known: late; repeat the call$/u);
  assert.equal(length, 2);
  assert.deepEqual(lines.slice(0, 2), [
    'waiting for pod vm-1 to run: a (x1)',
    'waiting for pod vm-1 to run: b b',
  ]);
  assert.deepEqual(clock.pending, []);
});

const there = { metadata: { name: 'vm-1' } };
const broken = unreachableError('k8s:6443', Object.assign(new Error('reset'), { code: 'ECONNRESET' }));
const refused = unreachableError('k8s:6443', Object.assign(new Error('refused'), { code: 'ECONNREFUSED' }));
const endings: readonly {
  readonly when: string;
  readonly api: KubernetesApi;
  readonly describeState?: () => Promise<string>;
  readonly message: string;
}[] = [
  {
    when: 'there is none',
    api: silentApi([]),
    message: 'no such object in pods; see why it is not there, then run the call again',
  },
  {
    when: 'it is not so',
    api: silentApi([there]),
    message: 'not so when it was last seen; look at it with kubectl describe, then run the call again',
  },
  {
    when: 'the connection broke',
    api: { ...silentApi([]), list: () => Promise.reject(broken) },
    message: broken.message,
  },
  {
    when: 'the server is away',
    api: { ...silentApi([]), list: () => Promise.reject(refused) },
    message: `${refused.message}; when that is mended, run the call again`,
  },
  {
    when: 'the last words failed',
    api: silentApi([there]),
    describeState: () => Promise.reject(new ProductError('KUBERNETES_API', 'no; run the call again')),
    message: 'not available (no; run the call again)',
  },
];
for (const { when, api, describeState, message: says } of endings) {
  test(`one next step, and one that means something, where ${when}`, async () => {
    const clock = new ManualClock();
    const waiting = waitFor<KubernetesObject, true>({
      ...{ api, reference, awaited: 'pod to run', deadlineMs: 1000, clock },
      condition: () => undefined,
      ...(describeState !== undefined && { describeState }),
    });
    await ended(clock, waiting);
    await assert.rejects(waiting, { message: `waited 1 s for pod to run; last known: ${says}` });
  });
}

test('a deletion is seen as no object', async () => {
  const pod = { metadata: { name: 'vm-1', uid: 'u', resourceVersion: '1' } };

  const gone = await waitFor({
    api: silentApi([pod], [{ type: 'DELETED', object: pod }]),
    reference,
    awaited: 'pod to go',
    deadlineMs: 1000,
    condition: (object) => (object === undefined ? true : undefined),
    clock: new ManualClock(),
  });

  assert.equal(gone, true);
});

test('an error of the condition ends the wait', async () => {
  const clock = new ManualClock();

  await assert.rejects(
    waitFor({
      api: silentApi([]),
      reference,
      awaited: 'anything',
      deadlineMs: 1000,
      condition: () => {
        throw new Error('the pod failed');
      },
      clock,
    }),
    { message: 'the pod failed' },
  );
  assert.deepEqual(clock.pending, []);
});

const forbidden = new ApiError({
  ...{ kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure' },
  ...{ code: 403, reason: 'Forbidden', message: 'pods is forbidden' },
});

/**
 * Creates an API whose watches end at once and whose lists return those answers; the last answer is repeated.
 */
function restartingApi(answers: (KubernetesObject[] | ApiError)[]): {
  api: KubernetesApi;
  lists: () => number;
} {
  let lists = 0;
  return {
    lists: () => lists,
    api: {
      ...silentApi([]),
      list: async () => {
        const answer = answers[Math.min(lists, answers.length - 1)];
        lists += 1;
        if (answer === undefined || answer instanceof ApiError) throw answer ?? new Error('no answer');
        const metadata = { resourceVersion: '1' };
        return Promise.resolve({ apiVersion: 'v1', kind: 'PodList', metadata, items: answer as never[] });
      },
      watch: async function* () {},
    },
  };
}

/** Advances the clock in steps until the wait has ended. */
async function ended(clock: ManualClock, waiting: Promise<unknown>): Promise<void> {
  const over = Promise.allSettled([waiting]).then(() => true);
  let isOver = false;
  while (!isOver) {
    clock.advance(200);
    isOver = await Promise.race([over, setImmediate(false)]);
  }
}

const untilThere = (api: KubernetesApi, clock: ManualClock): Promise<true> =>
  waitFor<KubernetesObject, true>({
    ...{ api, reference, clock, awaited: 'pod to come', deadlineMs: 120_000 },
    condition: (object) => (object === undefined ? undefined : true),
  });

test('an API server that was restarted may refuse everybody at first', async () => {
  const clock = new ManualClock();
  const { api } = restartingApi([[], forbidden, forbidden, [{ metadata: { name: 'vm-1' } }]]);
  const waiting = untilThere(api, clock);
  await ended(clock, waiting);
  assert.equal(await waiting, true);
});

test('what was never allowed ends the wait at once, what is not allowed any more after half a minute', async () => {
  const clock = new ManualClock();
  const never = restartingApi([forbidden]);
  await assert.rejects(untilThere(never.api, clock), (error) => isApiError(error, 403));
  assert.equal(never.lists(), 1);

  const began = clock.now();
  const noMore = untilThere(restartingApi([[], forbidden]).api, clock);
  await ended(clock, noMore);
  await assert.rejects(noMore, (error) => isApiError(error, 403));
  assert.ok(clock.now() - began >= 30_000 && clock.now() - began < 60_000, `${clock.now() - began} ms`);
});

const answered = (code: number): ApiError =>
  new ApiError({
    ...{ kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure' },
    ...{ code, reason: 'Unknown', message: `the server answered ${code}` },
  });

for (const code of [408, 410, 429, 500, 502, 503, 504, 520, 524])
  test(`one ${code} between two answers is no trouble for a wait`, async () => {
    const clock = new ManualClock();
    const { api } = restartingApi([[], answered(code), [there]]);
    const waiting = untilThere(api, clock);
    await ended(clock, waiting);
    assert.equal(await waiting, true);
  });

for (const code of [400, 401, 501, 505, 507])
  test(`a ${code} ends a wait`, async () => {
    const { api } = restartingApi([answered(code)]);
    await assert.rejects(untilThere(api, new ManualClock()), (error) => isApiError(error, code));
  });

test('what is known already is judged without a request, and the watch goes on from its version', async () => {
  const known = { metadata: { name: 'vm-1', uid: 'u', resourceVersion: '7', labels: { phase: 'one' } } };
  const then = { metadata: { ...known.metadata, labels: { phase: 'two' } } };
  const queries: WatchQuery[] = [];
  const api = silentApi([], [{ type: 'MODIFIED', object: then }]);
  const wait = (phase: string): Promise<string> =>
    waitFor<KubernetesObject, string>({
      api: {
        ...api,
        list: unused,
        watch: (resource, query = {}) => {
          queries.push(query);
          return api.watch(resource, query);
        },
      },
      reference,
      known,
      condition: (object) => (object?.metadata.labels?.['phase'] === phase ? phase : undefined),
      awaited: 'pod vm-1',
      deadlineMs: 1000,
      clock: new ManualClock(),
    });
  assert.equal(await wait('one'), 'one');
  assert.deepEqual(queries, []);
  assert.equal(await wait('two'), 'two');
  assert.deepEqual(
    queries.map(({ resourceVersion }) => resourceVersion),
    ['7'],
  );
});

test('a known version that is too old is read afresh', async () => {
  const clock = new ManualClock();
  const gone = {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    code: 410,
    reason: 'Expired',
  };
  const api = silentApi(
    [{ metadata: { name: 'vm-1', labels: { phase: 'two' } } }],
    [{ type: 'ERROR', object: { ...gone, message: 'too old' } as never }],
  );
  const waiting = waitFor<KubernetesObject, true>({
    api,
    reference,
    known: { metadata: { name: 'vm-1', uid: 'u', resourceVersion: '7' } },
    condition: (object) => (object?.metadata.labels?.['phase'] === 'two' ? true : undefined),
    awaited: 'pod vm-1',
    deadlineMs: 1000,
    clock,
  });
  await setImmediate();
  clock.advance(200);
  assert.equal(await waiting, true);
});
