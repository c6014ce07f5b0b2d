import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  bindBody,
  bindingPath,
  instancePath,
  nfsQuery,
  provisionBody,
  smbBindBody,
  smbProvisionBody,
  testBroker,
} from '../testing/test-broker.ts';

/** The duration of the search. The variable makes it longer. */
const milliseconds = Number(process.env['BOSH_KUBERNETES_FUZZ_MS'] ?? 5_000);
const seed = Number(process.env['BOSH_KUBERNETES_FUZZ_SEED'] ?? randomInt(2 ** 31));

const path = fc.oneof(
  fc.constantFrom(
    instancePath,
    bindingPath,
    `${instancePath}${nfsQuery}`,
    `${bindingPath}${nfsQuery}`,
    '/v2/catalog',
  ),
  fc.constantFrom(`${instancePath}/last_operation`, `${bindingPath}/last_operation`, '/metrics', '/healthz'),
  fc.webPath().map((text) => `/v2${text}`),
  fc.string().map((text) => `/v2/service_instances/${encodeURIComponent(text)}`),
  fc.webQueryParameters().map((text) => `${bindingPath}?${text}`),
);

/** A valid body in which one value is replaced by another one, or any JSON, or any bytes. */
const mutated = fc
  .tuple(
    fc.constantFrom(provisionBody, bindBody, smbProvisionBody, smbBindBody),
    fc.constantFrom(
      ...['service_id', 'plan_id', 'app_guid', 'context', 'parameters', 'bind_resource', 'maintenance_info'],
      ...['predecessor_binding_id', '__proto__', 'share', 'mount', 'uid', 'version', 'password', 'readonly'],
    ),
    fc.jsonValue(),
  )
  .map(([body, name, value]) =>
    JSON.stringify(
      Object.hasOwn(body.parameters, name) || fc.stringify(value).length % 2 === 0
        ? { ...body, parameters: { ...body.parameters, [name]: value } }
        : { ...body, [name]: value },
    ),
  );
const text = fc.oneof(
  { weight: 6, arbitrary: mutated },
  fc.json(),
  fc.string(),
  fc.uint8Array().map((bytes) => new Uint8Array(bytes)),
);
const headers = fc.record(
  {
    'x-broker-api-version': fc.constantFrom('2.13', '2.17', '2', '', '2.99999'),
    'x-broker-api-originating-identity': fc.constantFrom(
      'cloudfoundry e30=',
      'a',
      'a W10=',
      `a ${'x'.repeat(500)}`,
    ),
    'x-broker-api-request-identity': fc.constantFrom('r', ' ', 'a b'),
    'content-type': fc.constantFrom('application/json', 'text/xml', 'multipart/form-data', 'a'),
  },
  { requiredKeys: [] },
);

test('property: each request gets a JSON response below status 500, and the broker keeps running', async (t) => {
  t.diagnostic(`seed ${seed}; BOSH_KUBERNETES_FUZZ_SEED=${seed} sends the same requests again`);
  const { call, log } = await testBroker(t);
  const method = fc.constantFrom('GET', 'PUT', 'PUT', 'PUT', 'PATCH', 'DELETE', 'POST');
  await fc.assert(
    fc.asyncProperty(method, path, text, headers, async (verb, requestPath, content, given) => {
      const reply = await call(verb, requestPath, {
        ...(verb === 'GET' ? {} : { text: content }),
        headers: given,
      });
      assert.ok(reply.status < 500, `${reply.status} ${reply.text}`);
      if (reply.text !== '' && requestPath !== '/metrics')
        assert.equal(typeof JSON.parse(reply.text), 'object');
    }),
    { seed, numRuns: 1_000_000, interruptAfterTimeLimit: milliseconds, markInterruptAsFailure: false },
  );
  assert.equal((await call('GET', '/healthz')).status, 200);
  assert.doesNotMatch(log.join(''), /a fault in the broker/u);
});
