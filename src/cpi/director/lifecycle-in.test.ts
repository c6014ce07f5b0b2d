import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { dump } from 'js-yaml';
import { isProductError } from '../../errors/product-error.ts';
import { rejection } from '../testing/rejection.ts';
import { canonicalName } from './canonical-name.ts';
import { lifecycleIn } from './lifecycle-in.ts';

const web = { deployment: 'app', instanceGroup: 'web' };
const inGroups = (...groups: unknown[]): string => lifecycleIn(dump({ instance_groups: groups }), web);

test('a group is what its lifecycle says, a service where it says nothing', () => {
  assert.equal(inGroups({ name: 'web', lifecycle: 'errand' }), 'errand');
  assert.equal(inGroups({ name: 'web', lifecycle: 'service' }), 'service');
  assert.equal(inGroups({ name: 'web' }), 'service');
  assert.equal(inGroups({ name: 'other', lifecycle: 'errand' }), 'service');
  assert.equal(inGroups({ name: 'other' }, { name: 'web', lifecycle: 'errand' }), 'errand');
});

test('no manifest, one without groups and one without this group: a service', () => {
  for (const manifest of [null, '~', '{}', 'name: app', 'instance_groups: []', 'instance_groups:'])
    assert.equal(lifecycleIn(manifest, web), 'service', String(manifest));
});

test('a name counts as the director writes it into env', () => {
  for (const name of ['Web_App', 'web-app', 'web.-app'])
    assert.equal(
      lifecycleIn(dump({ instance_groups: [{ name, lifecycle: 'errand' }] }), {
        deployment: 'app',
        instanceGroup: 'web-app',
      }),
      'errand',
      name,
    );
  const numbered = 'instance_groups: [{name: 7, lifecycle: errand}]';
  assert.equal(lifecycleIn(numbered, { deployment: 'app', instanceGroup: '7' }), 'errand');
});

test('a variable where the answer would be leaves it undecided, and nowhere else', () => {
  assert.equal(inGroups({ name: 'web', lifecycle: '((lifecycle))' }), 'undecided');
  assert.equal(inGroups({ name: 'web', lifecycle: null }), 'undecided');
  assert.equal(inGroups({ name: '((name))', lifecycle: 'errand' }), 'undecided');
  assert.equal(inGroups('((group))'), 'undecided');
  assert.equal(lifecycleIn('instance_groups: ((groups))', web), 'undecided');
  assert.equal(inGroups({ name: 'web', instances: '((count))' }), 'service');
  assert.equal(inGroups({ name: 'other', lifecycle: '((lifecycle))' }, { name: 'web' }), 'service');
  assert.equal(inGroups({ name: '((name))' }, { name: 'web', lifecycle: 'errand' }), 'errand');
});

test('what Ruby reads is read: merge keys, a key that is there twice, the groups of older directors', () => {
  const merged =
    'x: &errand {lifecycle: errand}\ninstance_groups:\n- {<<: *errand, name: web}\n- {name: other}\n';
  assert.equal(lifecycleIn(merged, web), 'errand');
  const twice = 'instance_groups:\n- {name: web, lifecycle: service, lifecycle: errand}\n';
  assert.equal(lifecycleIn(twice, web), 'errand');
  assert.equal(lifecycleIn('jobs:\n- {name: web, lifecycle: errand}\n', web), 'errand');
});

test('what is no manifest is an error that quotes nothing of it', () => {
  for (const manifest of ['pass-word: [', '- pass-word', 'pass-word', 'a: *pass-word'])
    assert.throws(
      () => lifecycleIn(manifest, web),
      (error) => {
        assert.doesNotMatch(String(error), /pass-word/u);
        return rejection('DIRECTOR_ERROR', /deployment 'app'/u)(error);
      },
    );
});

test('whatever the text: an answer, or the error of the product', () => {
  const texts = fc.oneof(
    fc.string(),
    fc.anything().map((value) => JSON.stringify(value) ?? ''),
    fc.array(
      fc.constantFrom('instance_groups:', '\n', '- ', ' ', 'name: web', '{', '[', '&a', '*a', '<<: '),
      {
        maxLength: 30,
      },
    ),
  );
  fc.assert(
    fc.property(texts, (given) => {
      try {
        const found = lifecycleIn(typeof given === 'string' ? given : given.join(''), web);
        assert.ok(['service', 'errand', 'undecided'].includes(found));
      } catch (error) {
        assert.ok(isProductError(error, 'DIRECTOR_ERROR'), String(error));
      }
    }),
  );
});

test('a canonical name is one that stays as it is', () => {
  fc.assert(
    fc.property(fc.string(), (name) => {
      const canonical = canonicalName(name);
      assert.match(canonical, /^[a-z0-9-]*$/u);
      assert.equal(canonicalName(canonical), canonical);
    }),
  );
});
