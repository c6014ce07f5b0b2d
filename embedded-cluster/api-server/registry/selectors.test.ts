import assert from 'node:assert/strict';
import fc from 'fast-check';
import { test } from 'node:test';
import { isApiError } from '../../../src/kubernetes/client/api-error.ts';
import {
  assertSelectable,
  matchesFields,
  parseFieldSelector,
  matchesLabels,
  parseLabelSelector,
} from './selectors.ts';

const matches = (selector: string, labels: Record<string, string> = {}): boolean =>
  matchesLabels(parseLabelSelector(selector), labels);

test('label selectors of every form are parsed', () => {
  const labels = { app: 'web', 'bosh.cloudfoundry.org/index': '3', empty: '' };
  const yes = [
    '',
    'app=web',
    'app == web',
    'app!=db',
    'other!=x',
    'app in (web,db)',
    'app notin (db)',
    'other notin (x)',
  ];
  yes.push(
    'app',
    '!other',
    'bosh.cloudfoundry.org/index>2',
    'bosh.cloudfoundry.org/index<4',
    'empty=',
    'app=web,!other',
  );
  for (const selector of yes) assert.equal(matches(selector, labels), true, selector);
  const no = [
    'app=db',
    'app!=web',
    'app in (db)',
    'app notin (web)',
    '!app',
    'other',
    'other=x',
    'app=web,other',
    'app>1',
  ];
  for (const selector of no) assert.equal(matches(selector, labels), false, selector);
});

test('members of Object.prototype are not labels', () => {
  assert.equal(matches('constructor'), false);
  assert.equal(matches('!toString'), true);
});

test('a selector that cannot be parsed is 400', () => {
  for (const selector of ['=', 'a=(', 'a in', 'a in (b', 'a=b=c', 'a,,b', 'a>x', '-a', 'a b']) {
    assert.throws(
      () => parseLabelSelector(selector),
      (error) => isApiError(error, 400),
      selector,
    );
  }
});

test("a selector built from an object's labels matches it", () => {
  const word = fc.stringMatching(/^[a-z][a-z0-9]{0,8}$/);
  fc.assert(
    fc.property(fc.dictionary(word, word), (labels) => {
      const selector = Object.entries(labels).map(([key, value]) => `${key}=${value}`);
      assert.equal(matches(selector.join(','), labels), true);
    }),
  );
});

test('field selectors support equality and escapes, and reject unknown fields', () => {
  const fields = { 'metadata.name': 'a,b', 'status.phase': 'Running' };
  assert.equal(matchesFields(parseFieldSelector('metadata.name=a\\,b,status.phase!=Failed'), fields), true);
  assert.equal(matchesFields(parseFieldSelector('status.phase==Failed'), fields), false);
  assert.equal(matchesFields(parseFieldSelector('spec.nodeName='), fields), true);
  assert.throws(
    () => parseFieldSelector('metadata.name'),
    (error) => isApiError(error, 400),
  );
  const unknown = parseFieldSelector('spec.foo=1');
  assert.throws(() => assertSelectable(unknown, fields, true), /field label not supported: spec\.foo/);
});
