import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { KubernetesDocument } from './kubernetes-document.ts';

test('a document that Go still unpacks is not there yet; one that is broken without that is an error', async (t) => {
  const modules = await mkdtemp(join(tmpdir(), 'modules-'));
  t.after(() => rm(modules, { recursive: true }));
  const write = async (path: string, text: string): Promise<void> => {
    await mkdir(dirname(join(modules, path)), { recursive: true });
    await writeFile(join(modules, path), text);
  };
  const find = (): Promise<KubernetesDocument | undefined> => KubernetesDocument.find('1.0.0', modules);
  const document = 'k8s.io/kubernetes@v1.0.0/api/openapi-spec/swagger.json';
  const partial = 'cache/download/k8s.io/kubernetes/@v/v1.0.0.partial';

  assert.equal(await find(), undefined);
  await write(partial, '');
  await write(document, '{"definitions": {');
  assert.equal(await find(), undefined);
  await rm(join(modules, partial));
  await assert.rejects(find(), SyntaxError);
  await write(document, '{"definitions": {}}');
  assert.notEqual(await find(), undefined);
});
