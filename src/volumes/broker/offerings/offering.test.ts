import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isAllowed } from './offering.ts';

const asker = { organizationGuid: 'org', spaceGuid: 'space' };

test('a rule allows its share and the paths below it, and no path with the same prefix only', () => {
  const rules = [{ share: 'server/export/' }];
  for (const share of ['server/export', 'server/export/', 'server/export/a/b'])
    assert.ok(isAllowed(rules, share, asker), share);
  for (const share of ['server/exports', 'server/', 'server2/export', 'other/server/export'])
    assert.ok(!isAllowed(rules, share, asker), share);
  assert.ok(isAllowed([{ share: 'server/' }], 'server/anything', asker));
});

test('a rule can be for some orgs and spaces, no rules allow all, and an empty list allows none', () => {
  assert.ok(isAllowed([{ share: 's/a', organizations: ['org'], spaces: ['space'] }], 's/a', asker));
  assert.ok(!isAllowed([{ share: 's/a', organizations: ['org'], spaces: ['other'] }], 's/a', asker));
  assert.ok(!isAllowed([{ share: 's/a', organizations: ['other'] }], 's/a', asker));
  assert.ok(isAllowed(undefined, 's/a', asker));
  assert.ok(!isAllowed([], 's/a', asker));
});
