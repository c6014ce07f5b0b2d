import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { answerRequest } from './answer.ts';
import { methodNames } from './protocol/methods.ts';
import { type Parameter, type ParameterKind, parametersOf } from './testing/parameters.ts';
import type { CpiResponse } from './protocol/protocol.ts';
import { countingApi, type Requests } from './testing/counting-api.ts';
import { agentId, image, testCloud } from './testing/test-cloud.ts';

/**
 * Calls every method of the table with every kind of wrong value for every argument: the error has the type
 * that callers expect, and nothing is written.
 */
const nowhere = '00000000-0000-4000-8000-00000000dead';
const plausible: Readonly<Record<ParameterKind, unknown>> = {
  string: image,
  size: 64,
  object: {},
  networks: { default: { type: 'dynamic' } },
  'vm cid': `vm-${nowhere}`,
  'disk cid': `disk-${nowhere}`,
  'disk cids': [],
  'snapshot cid': `snap-${nowhere}`,
  'network cid': `net-${nowhere}`,
  'placing properties': {},
  properties: {},
  'network definition': { type: 'manual', cloud_properties: {} },
};
const noText = [7, 0, true, {}, [], ''];
const noObject = [7, 'text', true, []];
const noCid = [7, true, {}, [], null, ''];
const wrongValues: Readonly<Record<ParameterKind, readonly unknown[]>> = {
  string: [...noText, null],
  size: ['64', -1, 0, 1.5, 2 ** 43, 2 ** 53, 1e300, true, {}, [], null],
  object: noObject,
  networks: [
    ...noObject,
    {},
    null,
    { default: 7 },
    { default: { type: 'quantum' } },
    { default: { type: 'manual', ip: 7 } },
  ],
  'vm cid': noCid,
  'disk cid': noCid,
  'disk cids': [7, 'disk-1', {}, [7], [null], ['']],
  'snapshot cid': noCid,
  'network cid': noCid,
  'placing properties': [...noObject, { context: 7 }, { context: '' }, { 'no-such-key': 1 }],
  properties: [...noObject, { context: 7 }, { context: '' }, { 'no-such-key': 1 }],
  'network definition': [...noObject, null, { cloud_properties: { context: 7 } }],
};
const foreign = [
  'garbage',
  '../x',
  'i-0abc',
  'vm_1',
  'VM-1',
  'x'.repeat(300),
  'x:y',
  ':vm-1',
  'vm-../etc',
  'vm-1\n',
  'disk-☃',
  'net 1',
];
/**
 * The results for cids of objects that do not exist; any other method returns an error that names the object.
 */
const answers: Readonly<Record<string, unknown>> = {
  has_vm: false,
  has_disk: false,
  delete_vm: null,
  delete_disk: null,
  delete_stemcell: null,
  delete_snapshot: null,
  delete_network: null,
};
const missing: Readonly<Record<string, string>> = {
  'vm cid': 'VMNotFound',
  'disk cid': 'DiskNotFound',
};

interface World {
  readonly requests: Requests;
  readonly ask: (method: string, args: readonly unknown[], version?: number) => Promise<CpiResponse>;
}

async function world(t: TestContext): Promise<World> {
  const { cloud, api } = await testCloud(t);
  const counting = countingApi(api);
  return {
    requests: counting.requests,
    ask: (method, args, version) =>
      answerRequest(JSON.stringify({ method, arguments: args, context: {}, api_version: version }), {
        readConfig: () => Promise.resolve('{}'),
        openCall: () =>
          Promise.resolve({
            call: { ...cloud, api: counting.api },
            log: () => '',
            secrets: () => Promise.resolve([]),
            close: () => undefined,
          }),
      }),
  };
}

const argumentsOf = (method: string, parameters: readonly Parameter[]): unknown[] =>
  parameters.map(({ name, kind }) => {
    if (name === 'agent_id') return agentId;
    return method === 'create_stemcell' && name === 'cloud_properties'
      ? { image_reference: image }
      : plausible[kind];
  });

function assertError(response: CpiResponse, types: readonly string[], what: string): void {
  assert.ok(response.error !== null, `${what} was accepted: ${JSON.stringify(response.result)}`);
  assert.equal(response.result, null);
  assert.ok(
    types.includes(response.error.type.replace('Bosh::Clouds::', '')),
    `${what}: ${JSON.stringify(response.error)}`,
  );
  assert.doesNotMatch(response.error.message, /a fault in the CPI/u);
}

for (const method of methodNames) {
  test(method, async (t) => {
    const parameters = parametersOf(method);
    const { requests, ask } = await world(t);
    for (const [index, parameter] of parameters.entries()) {
      await t.test(`${parameter.name} of a wrong type or size`, async () => {
        for (const value of wrongValues[parameter.kind]) {
          if (value === null && parameter.isOptional) continue;
          const args: unknown[] = argumentsOf(method, parameters).with(index, value);
          await expectRefusal(ask, method, args);
        }
        assert.deepEqual(requests.writes, []);
      });
    }
    await t.test('no arguments, the same in both versions of the API', async () => {
      await expectRefusal(ask, method, []);
      const unversioned = await ask(method, []);
      for (const version of [2, 3]) assert.deepEqual(await ask(method, [], version), unversioned);
      assert.deepEqual(requests.writes, []);
    });
    const [first] = parameters;
    if (first?.kind.endsWith(' cid') !== true) return;
    await t.test('cids of others', async () => {
      for (const cid of foreign) {
        const response = await ask(method, argumentsOf(method, parameters).with(0, cid));
        const what = `${method}(${JSON.stringify(cid)})`;
        if (method in answers) {
          assert.deepEqual(response, { result: answers[method], error: null, log: '' }, what);
        } else assertError(response, [missing[first.kind] ?? ''], what);
      }
      assert.deepEqual(requests.writes, []);
    });
  });
}

async function expectRefusal(ask: World['ask'], method: string, args: readonly unknown[]): Promise<void> {
  const response = await ask(method, args);
  const what = `${method}(${JSON.stringify(args)})`;
  // a value that names no object does not exist, whatever its type
  if (method.startsWith('has_')) assert.deepEqual(response, { result: false, error: null, log: '' }, what);
  else assertError(response, ['CloudError', 'VMCreationFailed', 'NotSupported'], what);
}

test('cids of others as second arguments, and wrong sizes of what is there: nothing changes', async (t) => {
  const { ask, requests } = await world(t);
  const [vm] = (await ask('create_vm', [agentId, image, {}, { default: { type: 'dynamic' } }, [], {}]))
    .result as [string];
  const disk = (await ask('create_disk', [64, {}, vm])).result;
  const before = requests.writes.length;
  for (const cid of foreign) {
    assertError(await ask('attach_disk', [vm, cid]), ['DiskNotFound'], `attach_disk(${cid})`);
    assertError(await ask('detach_disk', [vm, cid]), ['DiskNotAttached'], `detach_disk(${cid})`);
  }
  for (const size of wrongValues.size) {
    // NotSupported would make the director copy the disk
    assertError(await ask('resize_disk', [disk, size]), ['CloudError'], `resize_disk(${String(size)})`);
    assertError(await ask('update_disk', [disk, size, {}]), ['CloudError'], `update_disk(${String(size)})`);
  }
  for (const value of wrongValues.properties)
    assertError(await ask('update_disk', [disk, 64, value]), ['CloudError'], JSON.stringify(value));
  for (const value of wrongValues.object) {
    assertError(await ask('set_vm_metadata', [vm, value]), ['CloudError'], JSON.stringify(value));
    assertError(await ask('set_disk_metadata', [disk, value]), ['CloudError'], JSON.stringify(value));
    assertError(await ask('snapshot_disk', [disk, value]), ['CloudError'], JSON.stringify(value));
  }
  assert.equal(requests.writes.length, before);
});

for (const method of methodNames) {
  const parameters = parametersOf(method);
  if (!parameters.some(({ isOptional }) => isOptional)) continue;
  test(`${method}: null and absent are the same as an empty optional argument`, async (t) => {
    const outcome = async (args: readonly unknown[]): Promise<string> => {
      const { ask } = await world(t);
      const { result, error } = await ask(method, args);
      return error === null ? `a result: ${typeof result}` : `${error.type}: ${error.message}`;
    };
    const given = argumentsOf(method, parameters).map((value, index) =>
      parameters[index]?.kind === 'vm cid' && parameters[index].isOptional ? undefined : value,
    );
    const nulls = given.map((value, index) => (parameters[index]?.isOptional === true ? null : value));
    const last = parameters.findLastIndex(({ isOptional }) => !isOptional);
    const wanted = await outcome(given);
    assert.equal(await outcome(nulls), wanted);
    assert.equal(await outcome(given.slice(0, last + 1)), wanted);
  });
}

test('null is the same as an absent optional argument', async (t) => {
  const { ask } = await world(t);
  const vm = await ask('create_vm', [
    agentId,
    image,
    null,
    { default: { type: 'dynamic', cloud_properties: null } },
    null,
    null,
  ]);
  assert.equal(vm.error, null);
  const disk = await ask('create_disk', [64, null, null]);
  assert.equal(disk.error, null);
  for (const [method, cid] of [
    ['set_vm_metadata', (vm.result as string[])[0]],
    ['set_disk_metadata', disk.result],
  ] as const) {
    assert.deepEqual(await ask(method, [cid, null]), { result: null, error: null, log: '' });
  }
});
