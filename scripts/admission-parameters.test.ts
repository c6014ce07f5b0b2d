import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { parseAllDocuments } from 'yaml';
import { holdScript } from '../src/cpi/disk/attach/scripts/hold.ts';
import { admissionParameters, manifestDirectory } from './admission-parameters.ts';

test('manifests/admission/parameters.yaml has the current scripts', async () => {
  const written = await readFile(new URL('parameters.yaml', manifestDirectory), 'utf8');

  assert.equal(
    written,
    admissionParameters(),
    'run: node scripts/run.mjs scripts/write-admission-parameters.ts',
  );
});

test('YAML reads back the exact text of a script', () => {
  const [, parameters] = parseAllDocuments(admissionParameters());

  assert.equal(parameters?.getIn(['data', 'hold.sh']), holdScript);
});
