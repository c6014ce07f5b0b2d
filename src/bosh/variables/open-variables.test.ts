import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { scratchDirectory } from '../testing/scratch.ts';
import { toValue } from '../yaml/yaml-node.ts';
import { loadStaticVariables, type GivenVariables } from './open-variables.ts';

async function load(given: GivenVariables): Promise<Record<string, unknown>> {
  const values = await loadStaticVariables(given);
  return Object.fromEntries([...values].map(([name, node]) => [name, toValue(node)]));
}

test('an endless file of --var-file is refused, and a pipe is read', async (t) => {
  const code = 'INVALID_ARGUMENT';
  await assert.rejects(load({ variableFiles: { x: '/dev/zero' } }), {
    code,
    message: /'\/dev\/zero' .* more than 4194304/,
  });
  const pipe = join(await scratchDirectory(t), 'pipe');
  execFileSync('mkfifo', [pipe]);
  const [found] = await Promise.all([load({ variableFiles: { x: pipe } }), writeFile(pipe, 'text\n')]);
  assert.deepEqual(found, { x: 'text\n' });
});

test('a name with dots is a part of the variable before its first dot, in any input', async (t) => {
  const directory = await scratchDirectory(t);
  const [vars, ca] = [join(directory, 'vars.yml'), join(directory, 'ca.pem')];
  await writeFile(vars, 'db.host: h\ndb.tls.on: true\ndb:\n  port: 1\n');
  await writeFile(ca, 'PEM\n');

  const found = await load({
    varsFiles: [vars],
    variableFiles: { 'db.tls.ca': ca },
    variables: { 'db.password': 'x', 'db.port': 2, other: 'y' },
  });

  assert.deepEqual(found, {
    db: { port: 2, host: 'h', tls: { on: true, ca: 'PEM\n' }, password: 'x' },
    other: 'y',
  });
});

test('a whole variable that is given later replaces the parts given before', async (t) => {
  const vars = join(await scratchDirectory(t), 'vars.yml');
  await writeFile(vars, 'db.host: h\n');
  assert.deepEqual(await load({ varsFiles: [vars], variables: { db: { port: 1 } } }), { db: { port: 1 } });
});

test('a part of a variable that is not a map is refused by name, without its value', async () => {
  await assert.rejects(load({ variables: { db: 'hunter2', 'db.password': 'x' } }), (error: Error) => {
    assert.match(error.message, /variable 'db\.password' is a part of 'db', which is text/);
    assert.ok(!error.message.includes('hunter2'));
    return true;
  });
});
