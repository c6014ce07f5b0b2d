import assert from 'node:assert/strict';
import fc from 'fast-check';
import { test } from 'node:test';
import type { ResourceAttributes } from './policy-rule.ts';
import { breakdownRule, ruleMatches, ruleCovers, type PolicyRule } from './policy-rule.ts';

const listOf = (args: readonly string[]): fc.Arbitrary<string[]> =>
  fc.uniqueArray(fc.constantFrom(...args), { minLength: 1, maxLength: 3 });

const rule: fc.Arbitrary<PolicyRule> = fc.record(
  {
    verbs: listOf(['get', 'list', 'create', '*']),
    apiGroups: listOf(['', 'apps', '*']),
    resources: listOf(['pods', 'pods/exec', 'secrets', '*/exec', '*']),
    resourceNames: listOf(['a', 'b']),
  },
  { requiredKeys: ['verbs', 'apiGroups', 'resources'] },
);

const attributes: fc.Arbitrary<ResourceAttributes> = fc.record({
  verb: fc.constantFrom('get', 'list', 'create', 'delete'),
  group: fc.constantFrom('', 'apps', 'batch'),
  resource: fc.constantFrom('pods', 'secrets', 'nodes'),
  subresource: fc.constantFrom(undefined, 'exec', 'status'),
  name: fc.constantFrom(undefined, 'a', 'b', 'c'),
});

test('a rule matches exactly the requests that one of its parts matches', () => {
  fc.assert(
    fc.property(rule, attributes, (own, requested) => {
      assert.equal(
        ruleMatches(own, requested),
        breakdownRule(own).some((right) => ruleMatches(right, requested)),
      );
    }),
  );
});

test('a rule that covers another one matches all requests that the other one matches', () => {
  fc.assert(
    fc.property(rule, rule, attributes, (granted, given, requested) => {
      for (const right of breakdownRule(given)) {
        if (ruleCovers(granted, right) && ruleMatches(right, requested))
          assert(ruleMatches(granted, requested));
      }
    }),
    { numRuns: 2000 },
  );
});

test('a rule covers itself', () => {
  fc.assert(
    fc.property(rule, (own) => {
      for (const right of breakdownRule(own)) assert(ruleCovers(own, right));
    }),
  );
});

test('non-resource paths match exactly, by prefix, or all', () => {
  const allows = (pattern: string, path: string): boolean =>
    ruleMatches({ verbs: ['get'], nonResourceURLs: [pattern] }, { verb: 'get', path });
  assert(allows('/healthz', '/healthz') && allows('/apis/*', '/apis/apps/v1') && allows('*', '/x'));
  assert(!allows('/healthz', '/healthz/x') && !allows('/apis/*', '/apis') && !allows('/', '/x'));
  assert(
    !ruleMatches({ verbs: ['*'], apiGroups: ['*'], resources: ['*'] }, { verb: 'get', path: '/metrics' }),
  );
});
