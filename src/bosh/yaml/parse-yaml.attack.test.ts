import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { parseVariable } from '../variables/parse-variable.ts';
import { ConfigErrors, rootField } from './yaml-field.ts';
import { parseYaml } from './parse-yaml.ts';

const secret = '}Pr0d-Passw0rd';

test('invalid YAML is refused with its position and the kind of error, and not quoted', () => {
  for (const text of [
    secret,
    `"${secret}`,
    `'${secret}`,
    `!${secret}`,
    `!!int ${secret}`,
    `!!float "${secret}"`,
    `%${secret}\n---\na`,
    `"\\${secret}"`,
    `"a" ${secret}`,
    `@${secret}`,
    `\`${secret}`,
    `| ${secret}`,
    `a: ${secret}: c`,
    `a: "${secret}" b: c`,
    `{${secret}: 1, ${secret}: 2}`,
    `[${secret}`,
    `a: *${secret.slice(1)}`,
    `--- a\n--- ${secret}`,
    `a: 1\n\t${secret}: 2`,
    `- a\n${secret}`,
    'a: 98765432109876543210',
    '-98765432109876543210',
  ])
    for (const message of [
      problemOf(() => parseVariable('admin', text)),
      problemOf(() => parse(`x: ${text}`)),
    ]) {
      assert.doesNotMatch(message, /Pr0d|Passw0rd|98765432|undefined/u, text);
      for (const line of message.split('\n').filter((one) => one !== ''))
        assert.match(line, /^(?:-v admin=…|f\.yml):\d+:\d+: [^:]/u, text);
    }
});

test('property: an error contains no part of the text, in any context', () => {
  const around = fc.string({ unit: fc.constantFrom(...' \n\t:-?[]{}!&*#|>@`"\'%,\\<~=0'.split('')) });
  fc.assert(
    fc.property(around, around, (before, after) => {
      assert.doesNotMatch(
        problemOf(() => parse(`${before}Passw0rd${after}`)),
        /Passw0rd/u,
      );
    }),
    { numRuns: 2000 },
  );
});

test('a value of another type than expected is named by its type', () => {
  for (const [text, kind] of [
    ['98765432', 'a number'],
    ['Passw0rd', 'text'],
    ['true', 'true or false'],
  ]) {
    const problems = new ConfigErrors();
    rootField(parse(`a: ${text}`), problems)
      .get('a')
      .items();
    assert.equal(
      problemOf(() => problems.throwIfAny('MANIFEST_INVALID')),
      `f.yml:1:4: a: expected a list, found ${kind}`,
    );
  }
});

const parse = (text: string): ReturnType<typeof parseYaml> => parseYaml(text, 'f.yml', 'MANIFEST_INVALID');

function problemOf(action: () => unknown): string {
  try {
    action();
  } catch (error) {
    return (error as Error).message;
  }
  return '';
}
