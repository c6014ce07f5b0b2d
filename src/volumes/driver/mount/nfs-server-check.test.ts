import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseMountInfo } from '../../../platform/mountinfo.ts';
import { checkNfsMount, isSameAddress, normalisedPath } from './nfs-server-check.ts';

const requested = {
  share: 'server:/share',
  address: '10.0.0.1',
  path: '/share',
  serverAddresses: ['10.0.0.1', 'fd00::1'],
};
const mounted = (source: string, options: string): (() => void) => {
  const [entry] = parseMountInfo(`1 1 0:1 / /t rw - nfs4 ${source} rw,${options}\n`);
  return () => checkNfsMount(requested, entry);
};

test('the requested directory from an address of its server is accepted', () => {
  assert.doesNotThrow(mounted('10.0.0.1:/share', 'vers=4.2,addr=10.0.0.1'));
  // the kernel joined a session through the other address
  assert.doesNotThrow(mounted('10.0.0.1:/share', 'clientaddr=10.0.0.9,addr=fd00:0:0::1'));
});

test('another server or another directory is refused', () => {
  const others = [
    ['10.0.0.1:/share', 'vers=4.2,addr=10.0.0.2'],
    ['10.0.0.1:/share', 'clientaddr=10.0.0.1'],
    // a referral
    ['10.0.0.2:/share', 'addr=10.0.0.1'],
    ['[fd00::1]:/share', 'addr=fd00::1'],
    ['none', ''],
  ] as const;
  for (const [source, options] of others) assert.throws(mounted(source, options), { code: 'OTHER_SERVER' });
  assert.throws(() => checkNfsMount(requested, undefined), { code: 'OTHER_SERVER' });
  for (const path of ['/private', '/share/x', '/', '/share\\040'])
    assert.throws(mounted(`10.0.0.1:${path}`, 'addr=10.0.0.1'), { code: 'LINK_IN_SHARE' }, path);
});

test('addresses are compared as addresses', () => {
  assert.ok(isSameAddress('0:0:0:0:0:0:0:1', '::1'));
  assert.ok(isSameAddress('FD00::00ab', 'fd00::ab'));
  assert.ok(isSameAddress('::ffff:10.0.0.1', '10.0.0.1'));
  assert.ok(!isSameAddress('fe80::1%eth0', 'fe80::1%eth1'));
  assert.ok(!isSameAddress('', '10.0.0.1'));
});

test('a path is normalised as the kernel shows it', () => {
  const paths = { '/': '/', '//a': '/a', '/a/./b//': '/a/b', '/.': '/', '/a.b/..c': '/a.b/..c' };
  for (const [path, normalised] of Object.entries(paths)) assert.equal(normalisedPath(path), normalised);
});
