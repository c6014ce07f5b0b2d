import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseBuildArguments } from './build-arguments.ts';
import { parseLoadArguments } from './load.ts';

const debian = ['--profile', 'baseline', '--output', '/out'];

test('--from-debian has a default suite', () => {
  for (const [args, suite] of [
    [['--from-debian', ...debian], 'bookworm'],
    [[...debian, '--from-debian'], 'bookworm'],
    [['--from-debian', 'trixie', ...debian], 'trixie'],
    [['--from-debian=trixie', ...debian], 'trixie'],
  ] as const) {
    const { from } = parseBuildArguments([...args]);
    assert.equal(from.kind === 'debian' && from.suite, suite);
  }
});

test('stemcell build names an unsupported argument', () => {
  const cases: readonly [string[], RegExp][] = [
    [[], /needs either --from or --from-debian/],
    [['--from', 'a', '--from-debian', ...debian], /needs either/],
    [['--from', 'a'], /needs --output FOLDER/],
    [['--from', 'a', ...debian], /takes --profile only with --from-debian/],
    [['--from', 'a', '--agent', 'b', '--output', 'c'], /takes --agent only with --from-debian/],
    [['--from-debian', '--output', 'c'], /needs --profile, one of privileged, sys-admin, baseline/],
    [['--from-debian', '--profile', 'root', '--output', 'c'], /needs --profile/],
    [['--from-debian', 'Book worm', ...debian], /cannot use 'Book worm' as suite/],
    [['--from-debian', '--include', '-oEvil=1', ...debian], /include/],
    [['--from-debian', '--include', 'a,b', ...debian], /cannot use 'a,b' as package/],
    [['--from-debian', '--mirror', 'ftp://x', ...debian], /as mirror/],
    [
      ['--from', 'a', '--architecture', 'x86', '--output', 'c'],
      /needs one of amd64, arm64 as --architecture/,
    ],
    [['--from-debian', '--architecture', 'arm64', ...debian], /takes --architecture only with --from/],
    [['--from-debian', '--reference', 'v1', ...debian], /takes --reference only with --from/],
    [['--from-debian', '--monit', 'm', ...debian], /takes --monit only with --agent/],
    [['--from-debian', '--davcli', 'd', ...debian], /takes --davcli only with --agent/],
    [['--from', 'a', '--without-compilers', '--output', 'c'], /takes --without-compilers only with/],
    [['--from', 'a', '--davcli', 'b', '--output', 'c'], /takes --davcli only with --from-debian/],
    [['--from-debian', '--version', 'v 1', ...debian], /as version/],
    [['--from-debian', '--image', 'no-host', ...debian], /HOST\/REPOSITORY:TAG/],
    [['--from-debian', '--image', `r.example/a@sha256:${'0'.repeat(64)}`, ...debian], /HOST\/REPOSITORY:TAG/],
    [['--from-debian', '--surprise', ...debian], /--surprise/],
  ];
  for (const [args, message] of cases)
    assert.throws(() => parseBuildArguments(args), { code: 'INVALID_ARGUMENT', message }, String(message));
});

test('the architecture is the given one, or that of the machine by default', () => {
  const args = ['--from', 'a', '--output', 'c'];
  for (const [more, architecture] of [
    [['--architecture', 'arm64'], 'arm64'],
    [[], undefined],
  ] as const) {
    const { from } = parseBuildArguments([...args, ...more]);
    assert.deepEqual(from.kind === 'source' && from.architecture, architecture);
  }
});

test('a mirror with a password is refused without a quote of it', () => {
  for (const mirror of [
    'https://robot:pass-word@deb.example/debian',
    'ftp://robot:pass-word@deb.example/debian',
    'https://pass-word@deb.example',
    'https://robot:pass-w@rd@deb.example/debian',
    'deb [signed-by=/etc/key.gpg] https://robot:pass-word@deb.example/debian bookworm main',
  ])
    assert.throws(
      () => parseBuildArguments(['--from-debian', '--mirror', mirror, ...debian]),
      (error: Error & { readonly code?: string }) => {
        assert.equal(error.code, 'INVALID_ARGUMENT');
        assert.match(error.message, /user or password in --mirror/u);
        assert.doesNotMatch(error.message, /pass-w/u);
        return true;
      },
    );
  const { from } = parseBuildArguments(['--from-debian', '--mirror', 'https://deb.example/a@b', ...debian]);
  assert.deepEqual(from.kind === 'debian' && from.mirrors, ['https://deb.example/a@b']);
});

test('an image is loaded into containerd by default', () => {
  assert.deepEqual(parseLoadArguments(['/f']).destination, { kind: 'containerd', address: undefined });
  assert.deepEqual(parseLoadArguments(['/f', '--to', 'kind']).destination, { kind: 'kind', cluster: 'kind' });
  assert.deepEqual(parseLoadArguments(['/f', '--to', 'minikube', '--cluster', 'lab']).destination, {
    kind: 'minikube',
    profile: 'lab',
  });
});

test('stemcell load names an unsupported argument', () => {
  const cases: readonly [string[], RegExp][] = [
    [[], /needs one folder/],
    [['a', 'b'], /needs one folder/],
    [['a', '--to', 'docker'], /needs --to, one of containerd, kind, minikube/],
    [['a', '--cluster', 'x'], /takes --cluster only with --to kind or minikube/],
    [['a', '--to', 'kind', '--cluster', '--evil'], /--cluster/],
    [['a', '--to', 'kind', '--cluster=-x'], /cannot use '-x'/],
    [['a', '--to', 'kind', '--address', '/s'], /takes --address only with --to containerd/],
  ];
  for (const [args, message] of cases)
    assert.throws(() => parseLoadArguments(args), { code: 'INVALID_ARGUMENT', message }, String(message));
});
