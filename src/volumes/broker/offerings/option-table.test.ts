import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { nfsOffering, smbOffering } from './offering.ts';
import { mergeOptions, type OptionScope, parseOptions, toMountConfig } from './option-table.ts';

const operator = { defaults: {}, forced: {} };
const nfs = nfsOffering({ ldap: false, operator, maintenance: undefined });
const nfsLdap = nfsOffering({ ldap: true, operator, maintenance: undefined });
const smb = smbOffering({ operator, maintenance: undefined });

function problemsOf(
  table: typeof nfs.table,
  parameters: Record<string, unknown>,
  scope: OptionScope,
): string {
  const parsed = parseOptions(table, parameters, scope, {});
  return 'description' in parsed ? parsed.description : '';
}

function optionsOf(table: typeof nfs.table, parameters: Record<string, unknown>, scope: OptionScope): object {
  const parsed = parseOptions(table, parameters, scope, {});
  assert.ok('options' in parsed, 'description' in parsed ? parsed.description : '');
  return parsed.options;
}

test('all errors are in one description, sorted, in the texts of the acceptance tests', () => {
  const parameters = { uid: 1, gid: '2', share: 'a:b', version: 9, readonly: 'maybe' };
  assert.equal(
    problemsOf(nfsLdap.table, parameters, 'provision'),
    [
      '- validation mount options failed: readonly must be true or false; ' +
        'share must be host:/path or host/path, with an IPv6 address in brackets; ' +
        'version must be one of 3, 3.0, 4, 4.0, 4.1, 4.2',
      '- Not allowed options: gid, uid',
    ].join('\n'),
  );
  assert.equal(problemsOf(smb.table, {}, 'provision'), '- Missing mandatory options: share');
  assert.equal(problemsOf(smb.table, { share: '//h/s' }, 'bind'), '- Not allowed options: share');
});

test('a share is accepted in both forms and stored in one', () => {
  const shares = [
    ['server/export', 'server/export'],
    ['server:/export', 'server/export'],
    ['Server.Example.com:/', 'server.example.com/'],
    ['[2001:DB8::1]:/vol 1', '[2001:db8::1]/vol 1'],
    ['[::1]/x', '[::1]/x'],
  ];
  for (const [share, kept] of shares)
    assert.deepEqual(optionsOf(nfs.table, { share }, 'provision'), { share: kept });
  const smbShares = [
    ['//Server/share', '//server/share'],
    ['\\\\server\\share\\a b', '//server/share/a b'],
    ['//[::1]/s', '//::1/s'],
  ];
  for (const [share, kept] of smbShares)
    assert.deepEqual(optionsOf(smb.table, { share }, 'provision'), { share: kept });
});

test('an invalid share is refused', () => {
  const notNfs = [
    '',
    'server',
    'server:export',
    '/export',
    ':/x',
    '-o:/x',
    '--bind/etc',
    'a/../b',
    'a/b,exec',
    'a/\n',
    '[::g]/x',
    'nfs://a/b',
    5,
    null,
    ['a/b'],
  ];
  for (const share of notNfs)
    assert.match(problemsOf(nfs.table, { share }, 'provision'), /^- validation.*: share /u, String(share));
  const notSmb = [
    '',
    '/a/b',
    '//a',
    '//a/',
    '///a/b',
    '//-a/b',
    '//a/b/../c',
    '//a/b,ro',
    '--bind',
    '//a//b',
  ];
  for (const share of notSmb)
    assert.match(problemsOf(smb.table, { share }, 'provision'), /^- validation.*: share /u, share);
});

test('values are checked, normalised and passed on as strings, and a false flag is valid', () => {
  const wrong = { uid: 'abc', gid: '-1', version: '3,exec', mount: '../etc' };
  assert.equal(problemsOf(nfs.table, wrong, 'bind').match(/ must be /gu)?.length, 4);
  for (const version of ['NaN', '1e1', '+4.1', ' 4', 5])
    assert.notEqual(problemsOf(nfs.table, { version }, 'bind'), '', String(version));
  for (const mount of [
    5,
    '/',
    '/home/vcap/app',
    '/home//vcap/./app/',
    '/home/vcap',
    '/home/',
    '/proc',
    '/proc/1',
    '/sys',
    '/dev/x',
    '/a:b',
    '/a,b',
    '/a/../b',
    'a',
    '/a\0',
  ])
    assert.notEqual(problemsOf(nfs.table, { mount }, 'bind'), '', String(mount));
  assert.notEqual(problemsOf(smb.table, { domain: 'W,noperm,uid=0' }, 'bind'), '');
  assert.notEqual(problemsOf(nfs.table, { uid: 0 }, 'bind'), '');
  const options = optionsOf(
    nfs.table,
    { uid: 1000, gid: '0100', version: 4.1, readonly: false, mount: '//a/./b/' },
    'bind',
  );
  assert.deepEqual(options, { uid: '1000', gid: '100', version: '4.1', readonly: false, mount: '/a/b' });
  assert.deepEqual(toMountConfig(nfs.table, { ...options, share: 'h/p', cache: true }), {
    source: 'nfs://h/p',
    version: '4.1',
    mount: '/a/b',
    cache: 'true',
    uid: '1000',
    gid: '100',
  });
});

test('a binding overrides the instance, the operator overrides both, and a missing option is named', () => {
  const given = { defaults: { version: '4.1', cache: true }, forced: { readonly: true } };
  assert.deepEqual(
    mergeOptions(nfs.table, given, { share: 'h/p', uid: '1', gid: '1' }, { uid: '2', cache: false }),
    {
      options: { version: '4.1', cache: false, share: 'h/p', uid: '2', gid: '1', readonly: true },
    },
  );
  assert.deepEqual(parseOptions(nfs.table, { readonly: false }, 'bind', given.forced), {
    description: '- Not allowed options: readonly',
  });
  assert.deepEqual(mergeOptions(nfs.table, operator, { share: 'h/p' }, { uid: '2' }), {
    description: '- Missing mandatory options: gid',
  });
  assert.deepEqual(
    mergeOptions(smb.table, operator, { share: '//h/s' }, { forceuid: true, noforceuid: true }),
    {
      description:
        '- validation mount options failed: forceuid cannot be used together with noforceuid\n' +
        '- Missing mandatory options: password, username',
    },
  );
});

test('a name and its alias are one option', () => {
  assert.deepEqual(optionsOf(smb.table, { ro: true }, 'bind'), { readonly: true });
  assert.match(problemsOf(smb.table, { ro: true, readonly: false }, 'bind'), /readonly is given twice/u);
});

test('the upstream drivers know every key of a mount, because they refuse any other', () => {
  // the option tables of nfsv3driver and smbdriver
  const ofNfsDriver =
    'auto_cache mount source experimental uid gid username password readonly version cache'.split(' ');
  const ofSmbDriver =
    'mfsymlinks username password file_mode dir_mode ro domain vers sec version noserverino forceuid noforceuid forcegid noforcegid nodfs readonly source mount'.split(
      ' ',
    );
  // only if a user sets it; the old driver then rejects the mount
  const ofOursAlone = ['nobrl'];
  for (const [{ table }, known] of [
    [nfs, ofNfsDriver],
    [nfsLdap, ofNfsDriver],
    [smb, [...ofSmbDriver, ...ofOursAlone]],
  ] as const)
    assert.deepEqual(
      table.map(({ mountConfigKey }) => mountConfigKey).filter((key) => !known.includes(key)),
      [],
    );
});

test('property: no option brings a comma, a control character or a leading dash into a mount', () => {
  const smuggler = fc.oneof(
    fc.string(),
    fc.string().map((text) => `-${text}`),
    fc.string().map((text) => `a${text},b`),
    fc.string().map((text) => `//h/${text}`),
    fc.string().map((text) => `h:/${text}`),
    fc.string().map((text) => `/${text}`),
    fc.constantFrom('__proto__', 'constructor', true, false, 0, -1, 1.5, null, [], {}),
  );
  for (const { table } of [nfs, nfsLdap, smb]) {
    const names = [...table.map(({ name }) => name), 'ro', '__proto__', 'source', 'constructor'];
    const anything = fc.dictionary(fc.constantFrom(...names), smuggler);
    fc.assert(
      fc.property(anything, fc.constantFrom<OptionScope>('provision', 'bind'), (parameters, scope) => {
        const parsed = parseOptions(table, parameters, scope, {});
        if ('description' in parsed) {
          assert.doesNotMatch(parsed.description.replaceAll('\n', ''), /\p{Cc}/u);
          return;
        }
        for (const [key, value] of Object.entries(toMountConfig(table, parsed.options))) {
          assert.doesNotMatch(value, /\p{Cc}/u, key);
          // mount(8) gets the password through its own descriptor
          if (key !== 'password') assert.doesNotMatch(value, /,|^-/u, key);
        }
      }),
      { numRuns: 2000 },
    );
  }
});
