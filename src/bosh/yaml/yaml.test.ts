import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { ConfigErrors, rootField } from './yaml-field.ts';
import { toGoYaml } from './go-yaml.ts';
import { parseYaml } from './parse-yaml.ts';
import { fromValue, lookUp, toValue } from './yaml-node.ts';

const position = { file: 'f', line: 1, column: 1 };
const parse = (text: string): ReturnType<typeof parseYaml> => parseYaml(text, 'f.yml', 'MANIFEST_INVALID');

test('scalars have the same types as in the bosh CLI', () => {
  // The right side is the output of `bosh interpolate` (bosh-cli 19ee1a8) for the left side.
  const cases: Readonly<Record<string, string>> = {
    yes: 'true',
    N: 'false',
    on: 'true',
    '0755': '493',
    '0o17': '15',
    '0x1F': '31',
    '0b11': '3',
    '-0b11': '-3',
    '1_000': '1000',
    '+1': '1',
    '08': '8',
    '0_7': '7',
    '-0': '0',
    '9007199254740993': '9007199254740993',
    '-9223372036854775808': '-9223372036854775808',
    '18446744073709551615': '18446744073709551615',
    '18_446_744_073_709_551_615': '18446744073709551615',
    '0xFFFFFFFFFFFFFFFF': '18446744073709551615',
    '01777777777777777777777': '18446744073709551615',
    '0x1FFFFFFFFFFFFFFFFF': '0x1FFFFFFFFFFFFFFFFF',
    '1.10': '1.1',
    '.5': '0.5',
    '1.': '1',
    '1e3': '1000',
    '1.5e7': '1.5e+07',
    '12345678.25': '1.234567825e+07',
    '0.0': '0',
    '12e+3': '12000',
    '.nan': '.nan',
    '-.inf': '-.inf',
    '~': 'null',
    '': 'null',
    '1:30': '"1:30"',
    '2020-01-01': '"2020-01-01"',
    '2020-13-01': '2020-13-01',
    e3: 'e3',
    '1e791': '1e791',
    '0x': '0x',
    '1e': '1e',
    '!!str 5': '"5"',
    '!!binary aGVsbG8=': 'hello',
    "'yes'": '"yes"',
    '"a"': 'a',
  };
  for (const [written, printed] of Object.entries(cases)) {
    assert.equal(toGoYaml(parse(`k: ${written}\n`)), `k: ${printed}\n`, written);
  }
});

test('strings are quoted and folded as by the bosh CLI', () => {
  const text = 'word '.repeat(40);
  // The output of `bosh interpolate` (bosh-cli 19ee1a8).
  const cases: readonly (readonly [unknown, string])[] = [
    [
      { a: `${text}x` },
      `a: ${'word '.repeat(15)}word\n  ${'word '.repeat(15)}word\n  ${'word '.repeat(7)}word x\n`,
    ],
    [{ k: {}, l: [], m: [[1, [2]], { a: 1 }, []] }, 'k: {}\nl: []\nm:\n- - 1\n  - - 2\n- a: 1\n- []\n'],
    [{ x: 'a\n b\n\n' }, 'x: |+\n  a\n   b\n\n'],
    [{ x: ' a\nb' }, 'x: |2-\n   a\n  b\n'],
    [{ x: '\n' }, 'x: |2+\n\n'],
    [{ x: 'a \nb' }, 'x: "a \\nb"\n'],
    [{ x: 'a\tb' }, 'x: "a\\tb"\n'],
    [{ 'multi\nline': 1 }, '? |-\n  multi\n  line\n: 1\n'],
    [{ ['k'.repeat(140)]: 5 }, `? ${'k'.repeat(140)}\n: 5\n`],
    [{ '': 2, x: '' }, '"": 2\nx: ""\n'],
    [{ k: "- it's", x: "it's", z: '#' }, "k: '- it''s'\nx: it's\nz: '#'\n"],
    [{ k: '<<', x: 'a: b', z: 'a #b' }, "k: <<\nx: 'a: b'\nz: 'a #b'\n"],
    [{ x: 'é', y: '😀', z: '\u00a0' }, 'x: é\n"y": "\\U0001F600"\nz: \u00a0\n'],
    ['text', 'text\n'],
    [null, 'null\n'],
    [[], '[]\n'],
  ];
  for (const [value, printed] of cases) assert.equal(toGoYaml(fromValue(value, position)), printed);
});

test('keys are sorted as by the bosh CLI', () => {
  const node = parse(
    '{b: 1, a10: 1, a9: 1, A: 1, a_b: 1, ab: 1, "1": 1, 2: 1, 1.5: 1, true: 1, false: 1, a09: 1, é: 1, "-": 1}',
  );
  // The output of `bosh interpolate` (bosh-cli 19ee1a8).
  const large =
    '{18446744073709551615: 1, 9223372036854775808: 2, 5: 3, 9007199254740993: 4, 9007199254740992: 5}';
  assert.deepEqual(toGoYaml(parse(large)).match(/\d+(?=:)/g), [
    '5',
    '9007199254740992',
    '9007199254740993',
    '9223372036854775808',
    '18446744073709551615',
  ]);
  const order = ['false', 'true', '1.5', '2', "'-'", '"1"', 'A', 'a_b', 'a9', 'a09', 'a10', 'ab', 'b', 'é'];
  assert.equal(toGoYaml(node), order.map((key) => `${key}: 1\n`).join(''));
});

test('property: written YAML is read back unchanged', () => {
  const json = fc.jsonValue({ maxDepth: 4, stringUnit: 'binary' });
  const exact = (_: string, value: unknown): unknown =>
    Number.isInteger(value) && !Number.isSafeInteger(value) ? 'too large' : value;
  fc.assert(
    fc.property(json, (value) => {
      const plain: unknown = JSON.parse(JSON.stringify(value, exact));
      const text = toGoYaml(fromValue(plain, position));
      assert.deepEqual(toValue(parse(text)), plain);
      assert.equal(toGoYaml(parse(text)), text);
    }),
    { numRuns: 150 },
  );
});

test('aliases and merge keys are resolved, and own keys take precedence', () => {
  const text = 'base: &b {x: 1, y: 2}\nother: &o {y: 3, z: 4}\nm: {<<: [*b, *o], x: 9}\nn: *b\n';
  const { m, n } = toValue(parse(text)) as Readonly<Record<string, unknown>>;
  assert.deepEqual(m, { x: 9, y: 2, z: 4 });
  assert.deepEqual(n, { x: 1, y: 2 });
});

test('a block scalar ends with a line break only if the text has one', () => {
  // The results of libyaml's scanner, which the bosh CLI uses (go yaml.v2, scannerc.go).
  const cases: readonly (readonly [string, unknown])[] = [
    ['x: |\n  foo', { x: 'foo' }],
    ['x: >\n  foo', { x: 'foo' }],
    ['x: |+\n  foo', { x: 'foo' }],
    ['x: |-\n  foo', { x: 'foo' }],
    ['x: |\n  foo\n', { x: 'foo\n' }],
    ['x: |+\n  foo\n\n', { x: 'foo\n\n' }],
    ['x: |\n  foo\n  ', { x: 'foo\n' }],
    ['x: |\n  foo\n# end', { x: 'foo\n' }],
    ['x: |\n  foo\n\n  bar', { x: 'foo\n\nbar' }],
    ['- |\n foo\n- |\n bar', ['foo\n', 'bar']],
    ['x: |', { x: '' }],
  ];
  for (const [text, value] of cases) assert.deepEqual(toValue(parse(text)), value, JSON.stringify(text));
});

test('each value has its line and column', () => {
  const value = lookUp(lookUp(parse('a:\n  b:\n    - x\n    - deep: 5\n'), 'a'), 'b');
  assert.deepEqual(value?.kind === 'list' ? value.items[1]?.position : undefined, {
    file: 'f.yml',
    line: 4,
    column: 7,
  });
});

test('invalid YAML is refused with its position', () => {
  const bad: Readonly<Record<string, RegExp>> = {
    'a: [1\nb: 2': /^f\.yml:2:1: /,
    'a: 1\nb: 2\na: 3': /^f\.yml:3:1: .*unique/,
    'x:\n  y: 123456789012345678901': /^f\.yml:2:6: the number is too large/,
    '? [1]\n: 2': /a key cannot be a list/,
    'a: *y': /^f\.yml:1:4: an alias refers/,
    'a: &x [*x]': /an alias refers/,
    'a: "unclosed': /^f\.yml:1:/,
    'a: {<<: 5}': /merges maps only/,
  };
  for (const [text, message] of Object.entries(bad)) {
    assert.throws(() => parse(text), { code: 'MANIFEST_INVALID', message }, text);
  }
});

test('aliases of aliases do not fill the memory', () => {
  const lines = ['a0: &a0 [x, x, x, x, x, x, x, x, x]'];
  for (let level = 1; level < 20; level += 1) {
    lines.push(
      `a${level}: &a${level} [${Array(9)
        .fill(`*a${level - 1}`)
        .join(', ')}]`,
    );
  }
  assert.throws(() => parse(lines.join('\n')), { code: 'MANIFEST_INVALID', message: /million/ });
});

test('property: any text is parsed or refused with MANIFEST_INVALID', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      try {
        parse(text);
      } catch (error) {
        assert.equal((error as { code?: string }).code, 'MANIFEST_INVALID');
      }
    }),
  );
});

test('fields report every error and continue', () => {
  const problems = new ConfigErrors();
  const root = rootField(
    parse('name: [x]\nsize: big\nlist: {a: 1}\nmap:\n  1: x\nversion: 1.10\n'),
    problems,
  );
  root.get('name').requiredText();
  root.get('missing').requiredText();
  root.get('size').integer();
  root.get('list').items();
  root.get('map').properties();
  assert.equal(root.get('version').text(), '1.10', 'text as it is written');
  assert.throws(
    () => problems.throwIfAny('MANIFEST_INVALID'),
    (error: Error) => {
      assert.deepEqual(error.message.split('\n'), [
        'f.yml:1:1: missing: must be provided',
        'f.yml:1:7: name: expected text, found a list',
        'f.yml:2:7: size: expected a whole number, found text',
        'f.yml:3:7: list: expected a list, found a map',
        "f.yml:5:3: map: the key '1' must be text; put it in quotes",
      ]);
      return true;
    },
  );
});
