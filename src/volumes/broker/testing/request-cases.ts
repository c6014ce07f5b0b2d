import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { BrokerConfig } from '../config.ts';
import type { Call, Reply } from './test-broker.ts';
import { bindBody, bindingPath, instancePath, provisionBody, testBroker } from './test-broker.ts';

/** A request and the expected response. */
export interface RequestCase {
  readonly title: string;
  /** The existing records: none, an instance, or an instance with a binding. */
  readonly before?: 'nothing' | 'instance' | 'binding';
  readonly request: readonly [method: string, path: string, call?: Call];
  readonly status: number;
  readonly error?: string;
  readonly message?: RegExp;
}

/** The bodies that create the instance and the binding of `before`, and the broker's settings. */
interface Setting {
  readonly provision: object;
  readonly bind: object;
  readonly changes?: Partial<BrokerConfig>;
}

export const without = (body: object, ...names: string[]): object =>
  Object.fromEntries(Object.entries(body).filter(([name]) => !names.includes(name)));

export const withParameters = (body: object, parameters: unknown): object => ({ ...body, parameters });

/**
 * Sends each request to one broker over HTTP, each in its own test case. The id `instance-1` in a path is
 * replaced by a unique one. Checks that rejected requests change nothing.
 */
export function testRequests(
  title: string,
  cases: readonly RequestCase[],
  { provision, bind, changes }: Setting = { provision: provisionBody, bind: bindBody },
): void {
  test(title, async (t) => {
    const { call } = await testBroker(t, changes);
    for (const [index, { before = 'nothing', request, ...wanted }] of cases.entries())
      await t.test(`${wanted.title}: ${wanted.status}`, async () => {
        const own = (path: string): string => path.replace('instance-1', `instance-${index + 1}`);
        const [instance, binding] = [own(instancePath), own(bindingPath)];
        if (before !== 'nothing')
          assert.equal((await call('PUT', instance, { body: provision })).status, 201);
        if (before === 'binding') assert.equal((await call('PUT', binding, { body: bind })).status, 201);
        const snapshot = async (): Promise<string[]> =>
          (await Promise.all([instance, binding].map(async (path) => call('GET', path)))).map(
            ({ text }) => text,
          );
        const stored = await snapshot();
        const [method, path, options] = request;
        const reply = await call(method, own(path), options);
        assert.equal(reply.status, wanted.status, reply.text);
        assertRefusal(reply);
        if (wanted.error !== undefined) assert.equal(reply.body['error'], wanted.error);
        if (wanted.message !== undefined) assert.match(String(reply.body['description']), wanted.message);
        if (reply.status >= 400) assert.deepEqual(await snapshot(), stored, 'nothing was changed');
      });
  });
}

/** Checks that every error response has a code of one word and a sentence. */
function assertRefusal({ status, body, text }: Reply): void {
  if (status < 400 || status === 410) return;
  assert.match(String(body['error']), /^[A-Z][A-Za-z]+$/u, text);
  assert.notEqual(body['description'] ?? '', '', text);
}
