import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { ProductError } from '../../errors/product-error.ts';
import { ManualClock } from '../../kubernetes/testing/manual-clock.ts';
import { type DaemonSetState, runInstallLoop, readDaemonSetState } from './daemon-set.ts';
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { startTlsServer } from '../../kubernetes/testing/tls-server.ts';

type Answer = DaemonSetState | 'silent';

/**
 * Runs an installer that is told to stop after that many checks, while the API returns these answers; the
 * last one is repeated.
 */
async function life(
  answers: readonly Answer[] | undefined,
  polls = 1,
  result: () => Promise<string> = () => Promise.resolve('in place'),
  allowedBefore = false,
): Promise<string[]> {
  const events: string[] = [];
  const clock = new ManualClock();
  const stop = new AbortController();
  let requestCount = 0;
  let isAllowed = allowedBefore;
  await runInstallLoop({
    install: () => {
      events.push('install');
      if (events.filter((event) => event === 'install').length === polls) stop.abort();
      return result();
    },
    uninstall: () => {
      events.push('uninstall');
      return Promise.resolve('removed');
    },
    readDaemonSet:
      answers === undefined
        ? undefined
        : () => {
            const answer = answers[Math.min(requestCount, answers.length - 1)] ?? 'silent';
            requestCount += 1;
            return answer === 'silent'
              ? Promise.reject(new ProductError('KUBERNETES_UNREACHABLE', 'no answer'))
              : Promise.resolve(answer);
          },
    apiAccess: {
      isRecorded: () => isAllowed,
      record: () => {
        isAllowed = true;
        return Promise.resolve();
      },
    },
    clock: { now: () => clock.now(), sleep: (milliseconds) => Promise.resolve(clock.advance(milliseconds)) },
    log: () => {},
    stop: stop.signal,
  });
  return events;
}

test('the plugin stays installed during an update or a reboot', async () => {
  assert.deepEqual(await life(['exists'], 3), ['install', 'install', 'install']);
});

test('a removed DaemonSet removes the plugin', async () => {
  assert.deepEqual(await life(['exists', 'removed'], 2), ['install', 'install', 'uninstall']);
});

test('a DaemonSet that is removed together with its Role removes the plugin', async () => {
  assert.deepEqual(await life(['exists', 'forbidden']), ['install', 'uninstall']);
});

test('a Role that never existed is no sign of a removed DaemonSet', async () => {
  assert.deepEqual(await life(['forbidden']), ['install']);
});

test('a Role that an earlier container had, and this one does not, means removal at the end', async () => {
  assert.deepEqual(await life(['forbidden'], 1, undefined, true), ['install', 'uninstall']);
});

test('an API that does not respond at the end is asked again', async () => {
  assert.deepEqual(await life(['exists', 'silent', 'silent', 'removed']), ['install', 'uninstall']);
});

test('the plugin stays if the API never responds at the end', async () => {
  assert.deepEqual(await life(['exists', 'silent']), ['install']);
});

test('a container that starts after the DaemonSet was removed removes what the previous one left', async () => {
  assert.deepEqual(await life(['removed']), ['uninstall']);
});

test('a network that cannot be wrapped is tried again, and a removal still works', async () => {
  const refuse = (): Promise<string> =>
    Promise.reject(new ProductError('STATIC_IP_NOT_INSTALLED', 'no plugin with an ipam'));
  assert.deepEqual(await life(['exists', 'removed'], 2, refuse), ['install', 'install', 'uninstall']);
});

test('a pod without a DaemonSet removes nothing', async () => {
  assert.deepEqual(await life(undefined), ['install']);
});

async function answered(
  context: TestContext,
  code: number,
  body: object,
): ReturnType<typeof readDaemonSetState> {
  const requests: string[] = [];
  const { access, server, close } = await startTlsServer((request, response: ServerResponse) => {
    requests.push(`${request.method} ${request.url}`);
    const status = request.url === '/readyz' ? 200 : code;
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  });
  context.after(close);
  // only the client may end the connection: an open one would keep the process alive until it is killed
  server.keepAliveTimeout = 0;
  const connected = once(server, 'secureConnection') as Promise<[Socket]>;
  const state = await readDaemonSetState({ ...access, namespace: 'kube-system' }, 'static-ip');
  // after a 403 the client checks whether the server is only starting, and sends the request once more
  const asks = 'GET /apis/apps/v1/namespaces/kube-system/daemonsets/static-ip';
  const again = code === 403 ? ['GET /readyz', asks] : [];
  assert.deepEqual(requests, [asks, ...again]);
  const [socket] = await connected;
  if (!socket.closed) await once(socket, 'close');
  return state;
}

const status = (code: number): object => ({
  kind: 'Status',
  apiVersion: 'v1',
  status: 'Failure',
  code,
  message: 'no',
});

test('tells apart a DaemonSet that exists, is being deleted, does not exist, or may not be read', async (context) => {
  const metadata = { name: 'static-ip', namespace: 'kube-system', uid: 'uid-1', resourceVersion: '1' };
  assert.equal(await answered(context, 200, { metadata }), 'exists');
  assert.equal(
    await answered(context, 200, { metadata: { ...metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } }),
    'removed',
  );
  assert.equal(await answered(context, 404, status(404)), 'removed');
  assert.equal(await answered(context, 401, status(401)), 'forbidden');
  assert.equal(await answered(context, 403, status(403)), 'forbidden');
});
