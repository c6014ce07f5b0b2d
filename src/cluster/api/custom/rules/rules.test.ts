import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { StructuralSchema } from '../structural-schema.ts';
import { checkRules, checkTransitions } from './check-rules.ts';
import { evaluateRule } from './evaluate-rule.ts';
import { parseRule } from './parse-rule.ts';
import { checkSchemaRules } from './schema-rules.ts';

const evaluate = (rule: string, self: unknown, oldSelf?: unknown): unknown => {
  const expression = parseRule(rule);
  assert.notEqual(expression, undefined, rule);
  return expression === undefined ? undefined : evaluateRule(expression, { self, oldSelf });
};

test('the rules of the snapshot definitions', () => {
  const oneOf =
    '(has(self.volumeSnapshotContentName) && !has(self.persistentVolumeClaimName)) || (!has(self.volumeSnapshotContentName) && has(self.persistentVolumeClaimName))';
  assert.equal(evaluate(oneOf, { persistentVolumeClaimName: 'a' }), true);
  assert.equal(evaluate(oneOf, {}), false);
  assert.equal(evaluate(oneOf, { persistentVolumeClaimName: 'a', volumeSnapshotContentName: 'b' }), false);
  assert.equal(evaluate('!has(oldSelf.a) || has(self.a)', {}, { a: 1 }), false);
  assert.equal(evaluate('has(self.name) && has(self.__namespace__)', { name: 'a', namespace: 'b' }), true);
  assert.equal(evaluate('size(self) > 0', ''), false);
});

test('precedence, literals, lists and methods', () => {
  assert.equal(evaluate('true || false && false', {}), true);
  assert.equal(evaluate('!(self == 1) && self != "x"', 2), true);
  assert.equal(evaluate(`self in ['a', "b"]`, 'b'), true);
  assert.equal(evaluate('self.a.b <= 3', { a: { b: 3 } }), true);
  assert.equal(evaluate(`self.startsWith('a') && self.matches('^a.c$')`, 'abc'), true);
  assert.equal(evaluate(`self == 'it\\'s'`, "it's"), true);
  assert.equal(evaluate('self == null', null), true);
});

test('a member that is not there decides nothing, unless the other side does', () => {
  assert.equal(evaluate('self.a == 1', {}), undefined);
  assert.equal(evaluate('!(self.a == 1)', {}), undefined);
  assert.equal(evaluate('self.a == 1 || true', {}), true);
  assert.equal(evaluate('self.a == 1 && false', {}), false);
  assert.equal(evaluate('self.constructor == 1 || false', {}), undefined);
});

test('what is not known of the language is refused with the definition', () => {
  for (const rule of [
    'self.all(x, x > 1)',
    'self +',
    '1 2',
    'foo',
    'has(self)',
    'self ? 1 : 2',
    '"\\n" == self',
    '(self',
  ]) {
    assert.equal(parseRule(rule), undefined, rule);
    assert.equal(checkRules('f', [{ rule }]).length, 1, rule);
  }
  assert.deepEqual(checkRules('f', [{ rule: 'self == 1', message: 'm' }]), []);
  assert.equal(checkRules('f', [{ rule: 'self == 1', messageExpression: '"x"' }]).length, 1);
  const list = {
    type: 'array',
    items: { type: 'string', 'x-kubernetes-validations': [{ rule: 'self == oldSelf' }] },
  };
  assert.equal(checkTransitions('f', list).length, 1);
});

test('rules are checked at every depth, those about the past on updates alone', () => {
  const schema: StructuralSchema = {
    type: 'object',
    properties: {
      fixed: {
        type: 'string',
        'x-kubernetes-validations': [{ rule: 'self == oldSelf', message: 'is immutable' }],
      },
      items: {
        type: 'array',
        items: { type: 'integer', 'x-kubernetes-validations': [{ rule: 'self > 0' }] },
      },
    },
  };
  const causes = (value: unknown, old?: unknown): string[] =>
    checkSchemaRules(schema, value, '', ...(old === undefined ? [] : [{ value: old }])).map(
      ({ field, message }) => `${field} ${message}`,
    );
  assert.deepEqual(causes({ fixed: 'a', items: [1, 0] }), [
    'items[1] Invalid value: "number": failed rule: self > 0',
  ]);
  assert.deepEqual(causes({ fixed: 'b' }, { fixed: 'a' }), ['fixed Invalid value: "string": is immutable']);
  assert.deepEqual(causes({ fixed: 'a' }, { fixed: 'a' }), []);
  assert.deepEqual(causes({ fixed: 'a' }, {}), []);
});

test('any text is parsed or refused', () => {
  const word = fc.constantFrom(
    'self',
    'oldSelf',
    'has',
    'size',
    '(',
    ')',
    '.',
    '&&',
    '||',
    '!',
    '==',
    '<',
    '1',
    '"a"',
    '[',
    ']',
    ',',
    'in',
    'x',
    '@',
  );
  fc.assert(
    fc.property(fc.array(word, { maxLength: 12 }), fc.jsonValue(), (words, value) => {
      const expression = parseRule(words.join(' '));
      if (expression !== undefined) evaluateRule(expression, { self: value, oldSelf: value });
    }),
    { numRuns: 3000 },
  );
});
