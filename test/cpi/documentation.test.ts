import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { parseNetworks } from '../../src/cpi/network/networks.ts';
import { isMethodName, methodNames, unsupportedMethods } from '../../src/cpi/protocol/methods.ts';
import { parseConfig } from '../../src/cpi/config/config.ts';
import { parseDiskProperties } from '../../src/cpi/disk/disk-properties.ts';
import type { JsonObject } from '../../src/platform/json.ts';
import { Field } from '../../src/platform/field.ts';
import { parseNetworkRequest } from '../../src/cpi/network/network-request.ts';
import { createStemcell } from '../../src/cpi/stemcell/create-stemcell.ts';
import { describeStemcell } from '../../src/cpi/stemcell/stemcell-manifest.ts';
import { testCloud } from '../../src/cpi/testing/test-cloud.ts';
import { parseVmProperties } from '../../src/cpi/vm/properties.ts';
import {
  assertDocumented,
  codeWords,
  cpiSections,
  knownKeys,
  namesInColumn,
  valuesOf,
  type Section,
} from './documented.ts';
import { kubernetesCpiJob } from './kubernetes-cpi-job.ts';

/** Each section of the pages in docs/cpi is compared with the code that reads what the section describes. */
const sections = await cpiSections();
const job = await kubernetesCpiJob();
after(() => job.close());
const config = parseConfig({}, {});

function section(heading: string): Section {
  const found = sections.get(heading);
  assert.ok(found !== undefined, `no page of docs/cpi has the section "${heading}"`);
  return found;
}

const argument = (value: unknown): Field => new Field(value, 'cloud_properties', 'INVALID_ARGUMENT');

/** Calls a parser as its verb does: the context is removed before. */
const withoutContext = (value: unknown): Field => {
  const { context: _, ...rest } = value as JsonObject;
  return argument(rest);
};
const parseVm = (value: unknown): unknown => parseVmProperties(withoutContext(value), config);
const parseDisk = (value: unknown): unknown => parseDiskProperties(withoutContext(value));
const parseNetwork = (value: unknown): unknown => {
  const type = 'vip' in (value as JsonObject) ? 'vip' : 'manual';
  const network = { type, ip: '192.0.2.1', cloud_properties: value };
  return parseNetworks(argument(type === 'vip' ? { default: { type: 'dynamic' }, network } : { network }));
};

const parseManaged = (value: unknown): unknown =>
  parseNetworkRequest(
    { type: 'manual', range: '10.0.0.0/24', cloud_properties: value },
    { ...config, networks: { ...config.networks, networkPolicy: true } },
  );

for (const [heading, parser, more] of [
  ['cloud_properties of a VM', parseVm, ['context']],
  ['cloud_properties of a disk', parseDisk, ['context']],
  ['cloud_properties of a network', parseNetwork, []],
  ['cloud_properties of a managed network', parseManaged, []],
] as const) {
  test(`${heading}: the keys that the code reads, each with an example that it accepts`, () => {
    const documented = section(heading);
    assertDocumented(documented, parser, more);
    for (const properties of valuesOf('cloud_properties', documented.examples)) parser(properties);
  });
}

test('cloud_properties of a stemcell: the keys that the code reads, each with an example that it accepts', async (t) => {
  const { rows, examples } = section('cloud_properties of a stemcell');
  const { cloud } = await testCloud(t);
  const read = new Set<string>();
  for (const properties of valuesOf('cloud_properties', examples) as JsonObject[]) {
    const noted = new Proxy(properties, {
      get: (target, key) => {
        read.add(String(key));
        return Object.hasOwn(target, key) ? target[String(key)] : undefined;
      },
    });
    if ('image_reference' in properties)
      await createStemcell(cloud, { imagePath: '/image', cloudProperties: noted, env: {} });
    else assert.equal((await describeStemcell('/no-manifest/image', noted)).name, properties['name']);
    for (const key of Object.keys(properties)) assert.ok(rows.has(key), key);
  }
  assert.deepEqual([...rows.keys()].toSorted(), [...read].toSorted());
});

test("cloud_properties of an AZ: they are a VM's", () => {
  const { examples } = section('cloud_properties of an AZ');
  const shown = valuesOf('cloud_properties', examples);
  assert.notEqual(shown.length, 0);
  for (const properties of shown) parseVm(properties);
});

test('properties: each has an example; each example is a configuration that is accepted', async () => {
  const { examples } = section('Properties');
  const shown = examples.map((example) => new Set(pathsOf(example)));
  for (const property of job.properties) {
    assert.ok(
      shown.some((paths) => paths.has(property)),
      `no example shows ${property}`,
    );
  }
  for (const example of examples) parseConfig(await job.renderConfig(example as JsonObject), {});
});

test('a cpi-config entry can say all that the job says, but for node_path', async () => {
  for (const example of section('Properties').examples) {
    const { node_path: _, ...properties } = example as JsonObject;
    const rendered = parseConfig(await job.renderConfig(properties), {});
    assert.deepEqual(parseConfig({}, { director_uuid: 'd', ...properties }), rendered);
    assert.deepEqual(
      parseConfig(await job.renderConfig({ agent: { ntp: ['other'] } }), properties),
      rendered,
    );
  }
});

test('every key of the configuration has a property', async () => {
  const properties = new Set(job.properties.map((name) => (name === 'ntp' ? 'agent.ntp' : name)));
  for (const name of knownKeys((file) => parseConfig(file, {})) ?? []) {
    if (properties.has(name)) continue;
    for (const key of knownKeys((value) => parseConfig({ [name]: value }, {})) ?? []) {
      assert.ok(properties.has(`${name}.${key}`), `config.${name}.${key} has no property in the job's spec`);
    }
  }
});

test("the defaults of the job's spec are those of the code", async () => {
  assert.deepEqual(parseConfig(await job.renderConfig({}), {}), config);
});

test("deadlines: the job's spec names each with the seconds that it has by default", () => {
  const [, list = ''] = /^Time limits in seconds: (.*?)\./u.exec(job.descriptions['deadlines'] ?? '') ?? [];
  const named = Object.fromEntries(
    list.split(', ').map((each) => {
      const [name = '', seconds] = each.split(' ');
      return [name, Number(seconds)];
    }),
  );
  const known = knownKeys((deadlines) => parseConfig({ deadlines }, {})) ?? [];
  assert.deepEqual(Object.keys(named).toSorted(), known.toSorted());
  assert.deepEqual(parseConfig({ deadlines: named }, {}).deadlines, config.deadlines);
});

test('pages on migration: each name in a column "here" is a property of the job or a key of cloud_properties', async () => {
  const keys = [...sections].flatMap(([heading, { rows }]) =>
    heading.startsWith('cloud_properties of ') ? [...rows.keys()] : [],
  );
  const known = new Set([...job.properties, ...keys]);
  const names = await namesInColumn('docs/migrating', 'here');
  assert.ok(names.length > 40, `${names.length} names`);
  assert.deepEqual(
    names.filter((name) => !known.has(name)),
    [],
  );
});

test('pages: each property of the job that a page names is in its spec', async () => {
  // On other pages a name with one of these beginnings is a property of the job, or a key in its value.
  const beginnings = /^(?:kubernetes|networks|defaults|registry|deadlines)\.[a-z_.]+$/u;
  const known = (name: string): boolean =>
    job.properties.some((property) => name === property || name.startsWith(`${property}.`));
  const names = (await codeWords('docs', /^docs\/migrating\//u)).filter((word) => beginnings.test(word));
  assert.ok(names.length > 30, `${names.length} names`);
  assert.deepEqual(
    names.filter((name) => !known(name)),
    [],
  );
});

test('methods: each method of the contract has a row, which says how a method without a verb is refused', () => {
  const { rows } = section('Methods');
  const done = ['info', ...methodNames];
  const refused = ['ping', 'current_vm_id'].filter((name) => !isMethodName(name));
  for (const name of done)
    assert.doesNotMatch(rows.get(name) ?? '', /Always answers `Not(?:Supported|Implemented)`/u, name);
  for (const name of unsupportedMethods)
    assert.match(rows.get(name) ?? '', /Always answers `NotSupported`/u, name);
  for (const name of refused) assert.match(rows.get(name) ?? '', /Always answers `NotImplemented`/u, name);
  assert.deepEqual([...rows.keys()].toSorted(), [...done, ...unsupportedMethods, ...refused].toSorted());
});

/** Returns the dotted paths of all keys in a value. */
function pathsOf(value: unknown, prefix = ''): string[] {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return [];
  return Object.entries(value).flatMap(([key, item]) => [
    `${prefix}${key}`,
    ...pathsOf(item, `${prefix}${key}.`),
  ]);
}
