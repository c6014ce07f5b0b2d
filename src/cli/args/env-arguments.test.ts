import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseEnvArguments } from './env-arguments.ts';

test('reads the flags of bosh create-env', () => {
  const parsed = parseEnvArguments('create-env', [
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
    '--vars-env',
    'MY',
    '--recreate',
    '--recreate-persistent-disks',
  ]);

  assert.deepEqual(parsed, {
    manifestPath: 'manifest.yml',
    statePath: 's.json',
    variables: { a: 1, b: 'x=y' },
    variableFiles: { ca: 'ca.pem' },
    varsFiles: ['v.yml'],
    opsFiles: ['ops.yml'],
    varsEnvs: ['MY'],
    isExample: false,
    recreate: true,
    recreatePersistentDisks: true,
    skipDrain: false,
    force: false,
    all: false,
    tunnel: false,
    nonInteractive: false,
    varErrs: false,
    varErrsUnused: false,
  });
});

test('accepts the flags that scripts pass to the bosh CLI for non-interactive use and terminal output', () => {
  const without = parseEnvArguments('create-env', ['m.yml']);
  for (const flag of ['-n', '--non-interactive'])
    assert.deepEqual(parseEnvArguments('create-env', [flag, 'm.yml']), { ...without, nonInteractive: true });
  assert.deepEqual(parseEnvArguments('create-env', ['m.yml', '--tty']), without);
});

test('rejects unknown arguments, and a command line without a manifest', () => {
  assert.throws(() => parseEnvArguments('create-env', ['m.yml', '--recreat']), {
    code: 'INVALID_ARGUMENT',
    message: /recreat/,
  });
  assert.throws(() => parseEnvArguments('create-env', []), {
    code: 'INVALID_ARGUMENT',
    message: /manifest is missing/,
  });
  assert.throws(() => parseEnvArguments('create-env', ['a.yml', 'b.yml']), {
    code: 'INVALID_ARGUMENT',
    message: /^Name one manifest/,
  });
});

test('up and destroy without a manifest take that of the example in the working directory', () => {
  for (const command of ['up', 'destroy'] as const) {
    const { manifestPath, isExample } = parseEnvArguments(command, []);
    assert.deepEqual([manifestPath, isExample], ['hello/manifest.yml', true]);
  }
});

test('never quotes the value of a variable', () => {
  assert.throws(
    () => parseEnvArguments('create-env', ['m.yml', '-v', 'password=[hunter2']),
    (error: Error) => !error.message.includes('hunter2') && error.message.includes('password'),
  );
});

test('rejects a flag that has no effect on the command, and names it', () => {
  for (const [command, ...flag] of [
    ['up', '--force'],
    ['create-env', '--force'],
    ['create-env', '-f'],
    ['delete-env', '--recreate'],
    ['destroy', '--recreate'],
    ['stop-env', '--recreate-persistent-disks'],
    ['destroy', '--skip-drain'],
    ['destroy', '-v', 'a=1'],
    ['destroy', '--var-file', 'a=b'],
    ['destroy', '-l', 'vars.yml'],
    ['destroy', '-o', 'ops.yml'],
  ] as const)
    assert.throws(
      () => parseEnvArguments(command, ['m.yml', ...flag]),
      (error: Error) =>
        error.message.startsWith(`'${command}' takes no `) &&
        error.message.includes(flag[0]) &&
        /Usage: [a-z-]+ (MANIFEST|\[MANIFEST\]);/.test(error.message),
      `${command} ${flag.join(' ')}`,
    );

  assert.equal(parseEnvArguments('delete-env', ['m.yml', '--skip-drain', '-o', 'x', '-f']).force, true);
  assert.equal(parseEnvArguments('destroy', ['m.yml', '--vars-store', 'x', '--force']).varsStorePath, 'x');
});
