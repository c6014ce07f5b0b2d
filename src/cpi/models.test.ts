import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { test } from 'node:test';

const root = join(import.meta.dirname, '../..');
const files = (await readdir(import.meta.dirname, { recursive: true })).map((path) => join('src/cpi', path));
const read = (path: string): Promise<string> => readFile(join(root, path), 'utf8');

/** Returns each `Function: PATH#NAME` in the first comment of a model. */
async function functionsOf(model: string): Promise<{ path: string; name: string }[]> {
  const [header = ''] = (await read(model)).split('*/');
  return [...header.matchAll(/^ \* Function: (\S+)#(\w+)$/gmu)].map(([, path = '', name = '']) => ({
    path,
    name,
  }));
}

/**
 * Returns the models in the comments of exported functions that end with `Model: NAME.pml`, and those
 * functions.
 */
async function modelsIn(path: string): Promise<{ model: string; name: string }[]> {
  const found = (await read(path)).matchAll(
    /Models?: ([\w., -]+\.pml)\.?\s*\*\/\s*export (?:async )?(?:function|const|class) (\w+)/gu,
  );
  return [...found].flatMap(([, models = '', name = '']) =>
    models.split(', ').map((model) => ({ model, name })),
  );
}

test('each function that a model names is exported, and its comment names the model', async () => {
  const models = files.filter((path) => path.endsWith('.pml'));
  assert.ok(models.length > 0);
  for (const model of models) {
    const functions = await functionsOf(model);
    assert.ok(functions.length > 0, `${model} names no function`);
    for (const { path, name } of functions) {
      const named = (await modelsIn(path)).filter((one) => one.name === name).map((one) => one.model);
      assert.ok(
        named.includes(basename(model)),
        `${path} exports no ${name} whose comment names ${basename(model)}`,
      );
    }
  }
});

test('each comment that names a model belongs to a function that the model names', async () => {
  const named = new Set<string>();
  for (const model of files.filter((path) => path.endsWith('.pml')))
    for (const { path, name } of await functionsOf(model)) named.add(`${basename(model)} ${path}#${name}`);
  for (const path of files.filter((one) => one.endsWith('.ts') && !one.endsWith('.test.ts')))
    for (const { model, name } of await modelsIn(path))
      assert.ok(named.has(`${model} ${path}#${name}`), `${model} does not name ${path}#${name}`);
});
