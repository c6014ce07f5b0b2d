import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { nfsOffering, smbOffering } from '../broker/offerings/offering.ts';
import { mountCommand, type MountSpec } from './mount/mount-command.ts';
import { parseMountConfig } from './parse-mount-config.ts';

const forced = { noserverino: false, nodfs: false };
const nfs = { source: 'nfs://server/export' };
const smb = { source: '//server/share', username: 'user', password: 'secret' };

function orderOf(protocol: 'nfs' | 'smb', options: Record<string, unknown>, flags = forced): MountSpec {
  const parsed = parseMountConfig(protocol, options, flags);
  assert.ok('spec' in parsed, 'problem' in parsed ? parsed.problem : '');
  return parsed.spec;
}

function problemOf(protocol: 'nfs' | 'smb', options: Record<string, unknown>): string {
  const parsed = parseMountConfig(protocol, options, forced);
  return 'problem' in parsed ? parsed.problem : '';
}

test('NFS sources, versions, ids and caching are parsed', () => {
  const plain = { kind: 'nfs', host: 'server', path: '/export', readOnly: false, attributeCaching: false };
  assert.deepEqual(orderOf('nfs', nfs), plain);
  assert.deepEqual(orderOf('nfs', { source: 'nfs://[2001:db8::1]/a b' }), {
    ...plain,
    host: '2001:db8::1',
    path: '/a b',
  });
  const versions = { '3': '3', '3.0': '3', '4': '4', '4.0': '4.0', '4.1': '4.1', '4.2': '4.2' };
  for (const [version, kept] of Object.entries(versions))
    assert.deepEqual(orderOf('nfs', { ...nfs, version }), { ...plain, version: kept });
  assert.deepEqual(orderOf('nfs', { ...nfs, version: 4.1 }), { ...plain, version: '4.1' });
  const ids = { uid: 1000, gid: 2000 };
  assert.deepEqual(orderOf('nfs', { ...nfs, uid: '1000', gid: 2000 }), { ...plain, ids });
  assert.deepEqual(orderOf('nfs', { ...nfs, readonly: 'true' }), {
    ...plain,
    readOnly: true,
    attributeCaching: true,
  });
  assert.deepEqual(
    orderOf('nfs', { ...nfs, cache: 'true', experimental: 'true', auto_cache: 'true', mount: '/x' }),
    {
      ...plain,
      attributeCaching: true,
    },
  );
});

test('a read-only share is cached, unless the binding disables it', () => {
  const cached = (options: Record<string, unknown>): boolean | undefined => {
    const spec = orderOf('nfs', { ...nfs, ...options });
    return spec.kind === 'nfs' ? spec.attributeCaching : undefined;
  };
  assert.equal(cached({ readonly: true }), true);
  assert.equal(cached({ readonly: true, cache: false }), false);
  assert.equal(cached({ readonly: true, cache: 'false' }), false);
  assert.equal(cached({ readonly: false }), false);
  assert.equal(cached({ cache: true }), true);
});

test('SMB options are parsed, flags only if set, and modes with their leading zeros', () => {
  const plain = {
    kind: 'smb',
    share: '//server/share',
    username: 'user',
    password: 'secret',
    readOnly: false,
    flags: [],
  };
  assert.deepEqual(orderOf('smb', { ...smb, domain: '' }), plain);
  const options = {
    domain: 'corp',
    vers: '3.0',
    readonly: true,
    file_mode: '0777',
    dir_mode: '0750',
    sec: 'ntlmssp',
  };
  assert.deepEqual(orderOf('smb', { ...smb, ...options, mfsymlinks: 'true', nodfs: 'false', nobrl: true }), {
    ...plain,
    domain: 'corp',
    version: '3.0',
    readOnly: true,
    flags: ['mfsymlinks', 'nobrl'],
    fileMode: '0777',
    dirMode: '0750',
    security: 'ntlmssp',
  });
  assert.deepEqual(orderOf('smb', smb, { noserverino: true, nodfs: true }), {
    ...plain,
    flags: ['noserverino', 'nodfs'],
  });
});

test('keys of the cell are not options, and errors have the texts of the upstream drivers', () => {
  assert.deepEqual(
    orderOf('nfs', { ...nfs, _workload_guid: 5, _workload_type: ['lrp'], _: '--bind' }),
    orderOf('nfs', nfs),
  );
  const problems: ['nfs' | 'smb', Record<string, unknown>, string][] = [
    ['smb', { source: '//server/share' }, '- Missing mandatory options: username, password'],
    ['nfs', { ...nfs, zone: 'a', actimeo: '1' }, '- Not allowed options: actimeo, zone'],
    ['nfs', { ...nfs, uid: '1' }, "- validation mount options failed: required 'gid' option is missing"],
    [
      'nfs',
      { ...nfs, uid: 0, gid: '-1' },
      "- validation mount options failed: Invalid 'gid' option (0, negative, or non-integer); Invalid 'uid' option (0, negative, or non-integer)",
    ],
    [
      'nfs',
      { ...nfs, username: 'u', uid: '1', gid: '1' },
      '- Not allowed options: gid, uid\n- Missing mandatory options: password',
    ],
    [
      'smb',
      { ...smb, version: '3.0', vers: '2.1' },
      '- validation mount options failed: version and vers have different values',
    ],
    [
      'smb',
      { ...smb, forceuid: true, noforceuid: true },
      '- validation mount options failed: forceuid cannot be used together with noforceuid',
    ],
  ];
  for (const [protocol, options, problem] of problems) assert.equal(problemOf(protocol, options), problem);
});

test('no value reaches mount(8) as another option or as its argument', () => {
  const refused: ['nfs' | 'smb', Record<string, unknown>][] = [
    ...['NaN', 'Inf', '1e1', '0x1p1', '+4.1', '3.5', '3,exec', ''].map(
      (version) => ['nfs' as const, { ...nfs, version }] as const,
    ),
    ...['--bind/etc', 'nfs://--bind/etc', 'nfs://a/../b', 'nfs://a/b,exec', 'nfs://a/b\n', 'nfs:///x', 5].map(
      (source) => ['nfs' as const, { source }] as const,
    ),
    ...['abc', '1,2', '-1', '4294967295', 1.5, null, []].map(
      (uid) => ['nfs' as const, { ...nfs, uid, gid: '1' }] as const,
    ),
    ...['W,noperm,uid=0', '-x'].map((domain) => ['smb' as const, { ...smb, domain }] as const),
    ...['--bind', '//a/b,credentials=/etc/shadow', '//a/../b'].map(
      (source) => ['smb' as const, { ...smb, source }] as const,
    ),
    ...['noserverino', 'mfsymlinks'].map(
      (key) => ['smb' as const, { ...smb, [key]: 'true,noperm' }] as const,
    ),
    ...['777,exec', '888', '-1', '99999'].map(
      (mode) => ['smb' as const, { ...smb, file_mode: mode }] as const,
    ),
    ['smb', { ...smb, sec: 'none,credentials=/x' }],
    ['smb', { ...smb, username: 'u%p' }],
    ['smb', { ...smb, password: '' }],
    ['smb', { ...smb, password: 'a\nb' }],
  ].map(([protocol, options]) => [protocol, options] as ['nfs' | 'smb', Record<string, unknown>]);
  for (const [protocol, options] of refused)
    assert.notEqual(problemOf(protocol, options), '', JSON.stringify(options));
});

test('property: any accepted config makes a command with one source, and no option from its values', () => {
  const nasty = fc.oneof(
    fc.string({ unit: 'grapheme' }),
    fc.string().map((text) => `-${text}`),
    fc.string().map((text) => `x,${text}`),
    fc.string().map((text) => `nfs://h/${text}`),
    fc.string().map((text) => `//h/${text}`),
    fc.constantFrom('true', 'false', true, 0, 4.1, null, [], {}, '0755', '3.0', '1000'),
  );
  const names =
    'source uid gid username password readonly version cache mount domain vers ro file_mode dir_mode sec nodfs forceuid __proto__ constructor _x toString'.split(
      ' ',
    );
  for (const [protocol, base] of [
    ['nfs', nfs],
    ['smb', smb],
  ] as const)
    fc.assert(
      fc.property(fc.dictionary(fc.constantFrom(...names), nasty, { maxKeys: 4 }), (options) => {
        const parsed = parseMountConfig(protocol, { ...base, ...options }, forced);
        if ('problem' in parsed) {
          assert.doesNotMatch(parsed.problem.replaceAll('\n', ''), /\p{Cc}/u);
          return;
        }
        const { args } = mountCommand(parsed.spec, '/target');
        const [, , , list = '', dashes, source = '', target] = args;
        assert.deepEqual([args.length, dashes, target], [7, '--', '/target']);
        assert.doesNotMatch(source, /^-|,|\p{Cc}/u);
        const known =
          /^(?:nosuid|nodev|ro|iocharset|hard|timeo|retrans|rsize|wsize|retry|nosharecache|actimeo|vers|uid|gid|username|domain|file_mode|dir_mode|sec|nodfs|forceuid)$/u;
        for (const option of list.split(',')) assert.match(option.split('=')[0] ?? '', known);
      }),
      { numRuns: 3000 },
    );
});

test('this driver accepts every response of our broker', () => {
  const operator = { defaults: {}, forced: {} };
  const nfsKeys = nfsOffering({ ldap: false, operator, maintenance: undefined }).table;
  const smbKeys = smbOffering({ operator, maintenance: undefined }).table;
  for (const [protocol, table] of [
    ['nfs', nfsKeys],
    ['smb', smbKeys],
  ] as const)
    for (const { mountConfigKey } of table) {
      const problem = problemOf(protocol, { ...(protocol === 'nfs' ? nfs : smb), [mountConfigKey]: {} });
      assert.doesNotMatch(problem, /Not allowed/u, mountConfigKey);
    }
});
