import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import * as fc from 'fast-check';
import { formatCommandFile } from './command-file.ts';

let directory: string;
before(() => {
  directory = mkdtempSync(join(tmpdir(), 'bosh-kubernetes-command-'));
});
after(() => rmSync(directory, { recursive: true }));

/** Returns the positional parameters of a shell after it has sourced the file, as container-init.sh does. */
function parseArgs(text: string): string[] {
  const path = join(directory, 'command');
  writeFileSync(path, text);
  const command = openSync(path, 'r');
  const script = '. /proc/self/fd/5; printf "%s\\0" "$@"';
  const printed = spawnSync('/bin/sh', ['-uc', script, 'sh', 'former'], {
    stdio: ['ignore', 'pipe', 'inherit', 'ignore', 'ignore', command],
  });
  closeSync(command);
  assert.equal(printed.status, 0);
  return printed.stdout.toString().split('\0').slice(0, -1);
}

// Characters with a meaning in a shell, and those that dash uses internally (its control characters, in UTF-8
// and alone).
const special = Array.from('\'"\\\n\r\t $`!*?[{(<|&;#~=%-é‘’\u0081\u0088\u0001');
const unit = fc.oneof(
  fc.constantFrom(...special),
  fc.string({ minLength: 1, maxLength: 1, unit: 'grapheme' }),
);
const word = fc.string({ unit, maxLength: 40 }).filter((text) => !text.includes('\0'));
const program = word.filter((text) => text !== '' && !text.includes('='));

test('property: the shell gets the exact arguments of any command', () => {
  const environments = fc.array(fc.tuple(word, word), { maxLength: 4 });
  fc.assert(
    fc.property(program, fc.array(word, { maxLength: 6 }), environments, (first, rest, environment) => {
      const variables = new Map(environment);
      const text = formatCommandFile({ command: [first, ...rest], environment: variables });
      const expected = [...[...variables].map(([name, value]) => `${name}=${value}`), first, ...rest];
      assert.deepEqual(parseArgs(text), expected);
    }),
    { numRuns: 60 },
  );
});

test('a shell that cannot open its own descriptors evaluates a file that it reads from one', () => {
  const text = formatCommandFile({
    command: ['say', `it's\n\n`],
    environment: new Map([['A', '']]),
  });
  const script = 'eval "$(cat)"; printf "%s\\0" "$@"';
  assert.equal(
    execFileSync('/bin/sh', ['-uc', script, 'sh'], { input: text }).toString(),
    `A=\0say\0it's\n\n\0`,
  );
});
