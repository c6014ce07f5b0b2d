import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { scratchDirectory } from '../testing/scratch.ts';
import { interpolateTemplate, type InterpolateOptions } from './interpolate-template.ts';

async function interpolated(
  t: TestContext,
  text: string,
  options: Omit<InterpolateOptions, 'path'> = {},
): Promise<string> {
  const path = join(await scratchDirectory(t), 'template.yml');
  await writeFile(path, text);
  return interpolateTemplate({ ...options, path });
}

test('prints the document with the given values, and leaves other variables unchanged', async (t) => {
  const text = 'b: ((given))\na: "((missing))-((given))"\n((key)): [((nested.part))]\n';
  const printed = await interpolated(t, text, { variables: { given: 1, nested: { part: true } } });
  assert.equal(printed, '((key)):\n- true\na: ((missing))-1\nb: 1\n');
  assert.equal(await interpolated(t, '- ((x))\n', { variables: { x: 'y' } }), '- "y"\n');
});

test('ops files are applied before variables', async (t) => {
  const ops = join(await scratchDirectory(t), 'ops.yml');
  await writeFile(ops, '- {type: replace, path: /a?, value: ((v))}\n');
  assert.equal(await interpolated(t, '{}', { opsFiles: [ops], variables: { v: 5 } }), 'a: 5\n');
});

test('--path prints a string unchanged and any other value as YAML', async (t) => {
  const text =
    'tls: {key: "-----BEGIN\\nx\\n-----END\\n", port: 25555, list: [{name: a, p: 1}], text: "yes"}\n';
  const at = (valuePath: string): Promise<string> => interpolated(t, text, { valuePath });
  assert.equal(await at('/tls/key'), '-----BEGIN\nx\n-----END\n\n');
  assert.equal(await at('/tls/text'), 'yes\n');
  assert.equal(await at('/tls/port'), '25555\n');
  assert.equal(await at('/tls/list/name=a'), 'name: a\np: 1\n');
  assert.equal(await at('/tls/none?'), 'null\n');
  await assert.rejects(at('/tls/none'), { code: 'MANIFEST_INVALID', message: /--path.*no key 'none'/ });
  await assert.rejects(at('tls'), { code: 'INVALID_ARGUMENT', message: /--path 'tls'.*start with/ });
});

test('--var-errs names every variable without a value, --var-errs-unused every value without a use', async (t) => {
  const store = join(await scratchDirectory(t), 'store.yml');
  await writeFile(store, 'kept: 1\nleft: 2\n', { mode: 0o600 });
  const options = { variables: { used: 1, extra: 2, 'db.name': 3 }, varsStorePath: store };
  const text = 'a: ((used))\nb: ((kept))\nc: ((none))\nd: ((other.part))\n';

  await assert.rejects(
    interpolated(t, text, { ...options, varErrs: true, varErrsUnused: true }),
    ({ message }: Error) => {
      const named = message.split('\n').map((line) => /:\d+:\d+: (.*)/.exec(line)?.[1]);
      assert.deepEqual(named, [
        "variable 'db' is given but not used",
        "variable 'extra' is given but not used",
        "variable 'left' is given but not used",
        "variable 'none' is neither given nor generated",
        "variable 'other' is neither given nor generated",
      ]);
      return true;
    },
  );
  const all = 'a: [((used)), ((kept)), ((left)), ((extra)), ((db.name))]\n';
  assert.equal(
    await interpolated(t, all, { ...options, varErrs: true, varErrsUnused: true }),
    'a:\n- 1\n- 1\n- 2\n- 2\n- 3\n',
  );
});

test('the vars store gets the generated values, and no value whose options lack a variable', async (t) => {
  const varsStorePath = join(await scratchDirectory(t), 'store.yml');
  const text = `
password: ((pw))
cert: ((tls))
variables:
- {name: pw, type: password}
- {name: tls, type: certificate, options: {common_name: ((host)), is_ca: true}}
- {name: unused}
`;
  const printed = await interpolated(t, text, { varsStorePath, variables: { unused: 'x' } });
  const stored = /^pw: (\w+)\n$/.exec(await readFile(varsStorePath, 'utf8'))?.[1];
  assert.ok(stored !== undefined);
  assert.match(printed, new RegExp(`^cert: \\(\\(tls\\)\\)\npassword: ${stored}\nvariables:\n- name: tls\n`));
  assert.doesNotMatch(printed, /name: (pw|unused)/);
  assert.match(printed, /common_name: \(\(host\)\)/);
});

test('--vars-env reads variables with its prefix as YAML, and every other flag takes precedence', async (t) => {
  const environment = {
    MY_n: '5',
    MY_t: "'5'",
    MY_m: '{a: b}',
    MY_hash: '#x',
    MY_empty: '',
    MYx: 'no',
    MY_v: 'env',
  };
  const text = 'a: [((n)), ((t)), ((m.a)), ((hash)), ((empty)), ((v)), ((x))]\n';
  const printed = await interpolated(t, text, { varsEnvs: ['MY'], environment, variables: { v: 'flag' } });
  assert.equal(printed, 'a:\n- 5\n- "5"\n- b\n- \'#x\'\n- null\n- flag\n- ((x))\n');
  await assert.rejects(
    interpolated(t, text, { varsEnvs: ['MY'], environment: { MY_p: '[hunter2' } }),
    ({ message }: Error) => message.includes("'MY_p'") && !message.includes('hunter2'),
  );
});
