import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  compareReleaseVersions,
  formatReleaseVersion,
  nextDevVersion,
  nextFinalVersion,
  parseReleaseVersion,
} from './release-version.ts';
import type { ReleaseVersion } from './release-version.ts';

function parsed(text: string): ReleaseVersion {
  const version = parseReleaseVersion(text);
  assert.ok(version !== undefined, text);
  return version;
}

const component = fc.oneof(fc.nat(12).map(String), fc.constantFrom('rc', 'alpha_1', '007', 'B'));
const segment = fc.array(component, { minLength: 1, maxLength: 3 }).map((parts) => parts.join('.'));
const version = fc
  .tuple(segment, fc.option(segment), fc.option(segment))
  .map(([release, pre, post]) => `${release}${pre === null ? '' : `-${pre}`}${post === null ? '' : `+${post}`}`);

test('property: a version is printed as it was read, and versions have one order', () => {
  fc.assert(fc.property(version, (text) => assert.equal(formatReleaseVersion(parsed(text)), text)));
  const three = fc.tuple(version, version, version);
  fc.assert(
    fc.property(three, (texts) => {
      const [a, b, c] = texts.map(parsed) as [ReleaseVersion, ReleaseVersion, ReleaseVersion];
      assert.equal(Math.sign(compareReleaseVersions(a, b)), -Math.sign(compareReleaseVersions(b, a)) + 0);
      if (compareReleaseVersions(a, b) <= 0 && compareReleaseVersions(b, c) <= 0)
        assert.ok(compareReleaseVersions(a, c) <= 0);
    }),
  );
});

test('the next version is greater than the last', () => {
  fc.assert(
    fc.property(version, (text) => {
      const last = parsed(text);
      for (const next of [nextFinalVersion(last), nextDevVersion(last)])
        assert.ok(next === undefined || compareReleaseVersions(next, last) > 0, text);
    }),
  );
});

test('versions are incremented as in the bosh CLI', () => {
  const next = (last: string | undefined, seconds?: number): string => {
    const after = nextDevVersion(last === undefined ? undefined : parsed(last), seconds);
    return after === undefined ? 'none' : formatReleaseVersion(after);
  };
  assert.deepEqual(
    [undefined, '0+dev.1', '12', '1.2-rc.1', '1+dev.9', '1+build.x'].map((last) => next(last)),
    ['0+dev.1', '0+dev.2', '12+dev.1', '1.2-rc.1+dev.1', '1+dev.10', 'none'],
  );
  assert.equal(next('12', 1700000000), '12+dev.1700000000');
  const final = (last: string): string => formatReleaseVersion(nextFinalVersion(parsed(last)) ?? parsed('0'));
  assert.deepEqual(['1', '1.0.9', '1.2-rc.1', '9+dev.3'].map(final), ['2', '1.0.10', '1.3', '10']);
  // Sorted by the bosh CLI's library.
  const ordered = ['0+dev.2', '0+dev.10', '1-alpha', '1-rc.1', '1', '1+dev.1', '1.0.1', '1.a', '2', '10'];
  assert.deepEqual(
    ordered.map(parsed).toSorted(compareReleaseVersions).map(formatReleaseVersion),
    ordered,
  );
  assert.equal(compareReleaseVersions(parsed('1.0.0'), parsed('1')), 0);
});

test('an invalid version is refused', () => {
  for (const text of ['', '-1', '1..2', '1-', '1+', '1/2', '1+a+b', '1 ', '99999999999999999999'])
    assert.equal(parseReleaseVersion(text), undefined, text);
});
