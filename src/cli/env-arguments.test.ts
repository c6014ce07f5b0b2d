import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseEnvArguments } from './env-arguments.ts';

test('reads the flags of bosh create-env', () => {
  const parsed = parseEnvArguments([
    'manifest.yml',
    '--state',
    's.json',
    '-v',
    'a=1',
    '-v',
    'b=x=y',
    '--var-file',
    'ca=ca.pem',
    '-l',
    'v.yml',
    '-o',
    'ops.yml',
    '--recreate',
  ]);

  assert.deepEqual(parsed, {
    manifestPath: 'manifest.yml',
    statePath: 's.json',
    variables: { a: 1, b: 'x=y' },
    variableFiles: { ca: 'ca.pem' },
    varsFiles: ['v.yml'],
    opsFiles: ['ops.yml'],
    recreate: true,
    skipDrain: false,
    force: false,
  });
});

test('refuses what it does not know, and a missing manifest', () => {
  assert.throws(() => parseEnvArguments(['m.yml', '--recreat']), {
    code: 'INVALID_ARGUMENT',
    message: /recreat/,
  });
  assert.throws(() => parseEnvArguments([]), { code: 'INVALID_ARGUMENT', message: /manifest is missing/ });
  assert.throws(() => parseEnvArguments(['a.yml', 'b.yml']), {
    code: 'INVALID_ARGUMENT',
    message: /'b\.yml'/,
  });
});

test('never quotes the value of a variable', () => {
  assert.throws(
    () => parseEnvArguments(['m.yml', '-v', 'password=[hunter2']),
    (error: Error) => !error.message.includes('hunter2') && error.message.includes('password'),
  );
});
