import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { VariableDefinition, VariableSource } from '../variables/variable.ts';
import { ConfigErrors } from '../yaml/yaml-field.ts';
import { parseYaml } from '../yaml/parse-yaml.ts';
import { fromValue, toValue } from '../yaml/yaml-node.ts';
import { interpolate } from './interpolate.ts';

const position = { file: 'given', line: 1, column: 1 };

function source(
  values: Readonly<Record<string, unknown>>,
  requests: VariableDefinition[] = [],
): VariableSource {
  return {
    expect: () => Promise.resolve(),
    get: async (definition) => {
      requests.push(definition);
      return Object.hasOwn(values, definition.name)
        ? fromValue(values[definition.name], position)
        : undefined;
    },
  };
}

async function run(
  text: string,
  values: Readonly<Record<string, unknown>>,
  requested?: VariableDefinition[],
): Promise<unknown> {
  const problems = new ConfigErrors();
  const node = await interpolate(
    parseYaml(text, 'm.yml', 'MANIFEST_INVALID'),
    source(values, requested),
    problems,
  );
  problems.throwIfAny('MANIFEST_INVALID');
  return toValue(node);
}

test('a value that is only a variable takes its type', async () => {
  const values = { n: 5, t: 'text', b: true, f: 1.5, z: null, m: { a: [1] } };
  const text = '{n: ((n)), t: (( t )), b: ((!b)), f: ((f)), z: ((z)), m: ((m))}';
  assert.deepEqual(await run(text, values), values);
});

test('strings and whole numbers are inserted into a string', async () => {
  assert.deepEqual(
    await run('u: https://((user)):((!pw))@((ip)):((port))/((user))', {
      user: 'a',
      pw: 'b$&',
      ip: '::1',
      port: 6868,
    }),
    {
      u: 'https://a:b$&@::1:6868/a',
    },
  );
  const large = { n: 18_446_744_073_709_551_615n };
  assert.deepEqual(await run('a: ((n))\nb: <((n))>', large), { a: large.n, b: '<18446744073709551615>' });
});

test('parts of a variable are reached with dots', async () => {
  const values = { c: { ca: 'PEM', list: ['x', 'y'], nested: { '0': 'zero' } } };
  const text = 'a: ((c.ca))\nb: "<((c.list.1))>"\nd: ((c.nested.0))\n';
  assert.deepEqual(await run(text, values), { a: 'PEM', b: '<y>', d: 'zero' });
});

test('keys are interpolated, and values of variables are not', async () => {
  assert.deepEqual(await run('{((k)): ((v))}', { k: 'key', v: '((w))' }), { key: '((w))' });
});

test('typed definitions are looked up first, in order, and removed from the manifest when found', async () => {
  const requests: VariableDefinition[] = [];
  const text = `
a: ((second))
variables:
- {name: first, type: password}
- {name: second, type: certificate, options: {common_name: ((given)), ca: first}}
- {name: third}
`;
  const values = { first: '1', second: '2', given: 'cn' };
  assert.deepEqual(await run(text, values, requests), { a: '2', variables: [{ name: 'third' }] });
  assert.deepEqual(
    requests.map(({ name }) => name),
    ['first', 'given', 'second', 'third'],
  );
  const options = requests[2]?.options;
  assert.deepEqual(options && toValue(options), { common_name: 'cn', ca: 'first' });
});

test('all missing and invalid variables are reported together, with positions', async () => {
  const text = 'a: ((none))\nb:\n- x((map))\n- ((map.zzz))\n- x((flag))\nc: ((none))\n{((map)): 1}\n'.replace(
    '{((map)): 1}\n',
    '((map)): 1\n',
  );
  await assert.rejects(run(text, { map: { y: 1 }, flag: true }), (error: Error) => {
    assert.deepEqual(error.message.split('\n'), [
      "m.yml:1:4: variable 'none' is neither given nor generated",
      "m.yml:3:3: variable 'map' is a map; only text and whole numbers can be inserted into text",
      "m.yml:4:3: variable 'map': there is no key 'zzz' for '/zzz'; there are 'y'",
      "m.yml:5:3: variable 'flag' is not text; only text and whole numbers can be inserted into text",
      "m.yml:6:4: variable 'none' is neither given nor generated",
      'm.yml:7:1: a key cannot be a map',
    ]);
    return true;
  });
});

test('a definition that depends on itself is an error and not a loop', async () => {
  const text =
    'variables:\n- {name: a, type: certificate, options: {ca: ((b))}}\n- {name: b, type: certificate, options: {ca: ((a))}}\n';
  await assert.rejects(run(text, {}), { message: /'a' depends on itself: a -> b -> a/ });
});

test('text without variables is unchanged', async () => {
  const plain = fc.string().filter((text) => !text.includes('(('));
  await fc.assert(
    fc.asyncProperty(
      fc.dictionary(fc.constantFrom('a', 'b', 'c'), plain, { noNullPrototype: true }),
      async (value) => {
        const problems = new ConfigErrors();
        const node = await interpolate(fromValue(value, position), source({}), problems);
        assert.deepEqual(toValue(node), value);
        assert.equal(problems.count, 0);
      },
    ),
  );
});

test('property: each value is inserted unchanged', async () => {
  const json = fc.jsonValue({ maxDepth: 3 });
  await fc.assert(
    fc.asyncProperty(json, async (value) => {
      const plain: unknown = JSON.parse(JSON.stringify(value));
      assert.deepEqual(await run('v: ((x))', { x: plain }), { v: plain });
    }),
  );
});
