import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { explainRefusal, type KernelSettings } from './check-requirements.ts';
import { parseProcessRecord } from './process-record.ts';

const maxNamespaces = { user: '9000', mnt: '9000', pid: '9000', uts: '9000', ipc: undefined };
const open: KernelSettings = {
  ...{ unprivilegedUserns: undefined, maxNamespaces, apparmorRestriction: undefined },
  ...{ inContainer: false, uid: 1000 },
};

test('the setting that prevents the cluster is named with its remedy', () => {
  const cases: [Partial<KernelSettings>, string, RegExp][] = [
    [{ unprivilegedUserns: '0' }, 'EPERM', /kernel\.unprivileged_userns_clone is 0/],
    [{ maxNamespaces: { ...maxNamespaces, user: '0' } }, 'ENOSPC', /user\.max_user_namespaces is 0/],
    [
      { maxNamespaces: { ...maxNamespaces, mnt: '0' } },
      'ENOSPC',
      /no mount namespace: sysctl -w user\.max_mnt_/,
    ],
    [{ maxNamespaces: { ...maxNamespaces, pid: '0' } }, 'ENOSPC', /user\.max_pid_namespaces is 0/],
    [{ maxNamespaces: { ...maxNamespaces, uts: '0' } }, 'ENOSPC', /user\.max_uts_namespaces is 0/],
    [{ apparmorRestriction: '1' }, 'EPERM', /kernel\.apparmor_restrict_unprivileged_userns is 1/],
    [{ inContainer: true }, 'EPERM', /--privileged/],
    [{}, 'spawnSync unshare ENOENT', /install util-linux/],
    [{}, 'unshare: unshare failed: Operation not permitted', /Operation not permitted/],
    [{ uid: 0, apparmorRestriction: '1' }, 'mount: denied', /mount: denied/],
    // mount(8) of util-linux can add a second line.
    [
      {},
      'mount: /x: denied.\n       dmesg(1) may have more information.\n',
      /refuses them: mount: \/x: denied\.$/,
    ],
  ];
  for (const [settings, complaint, expected] of cases) {
    assert.match(explainRefusal({ ...open, ...settings }, complaint), expected);
  }
});

test('a truncated record is invalid', () => {
  assert.deepEqual(parseProcessRecord('12 345 0a-b\n'), { pid: 12, startTime: '345', bootId: '0a-b' });
  for (const text of ['', '12', '12 345', 'x y z', '12 345 boot!']) {
    assert.equal(parseProcessRecord(text), undefined, text);
  }
});

const ownRoot = ['--user', '--map-root-user', '--mount'];
const inPidNamespace = [...ownRoot, '--pid', '--fork', '--kill-child', '--mount-proc'];
const probe = spawnSync('unshare', [...inPidNamespace, 'true'], { encoding: 'utf8' });
const skip =
  probe.status !== 0 && `needs user, mount and pid namespaces: ${probe.error?.message ?? probe.stderr}`;

/**
 * Returns the output of the check as root of a machine that lacks a feature. `spoil` is a shell text that
 * removes the feature and then runs its arguments.
 */
function refusalWhere(spoil: string): string {
  const check = `import { checkRequirements } from '${join(import.meta.dirname, 'check-requirements.ts')}';
    await checkRequirements('${tmpdir()}').then(
      ({ name }) => console.log('runs as', name),
      ({ code, message }) => console.log(code, message));`;
  const argv = ['/bin/sh', '-c', spoil, 'sh', process.execPath, '--input-type=module', '--eval', check];
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const { stdout, stderr } = spawnSync('unshare', [...inPidNamespace, ...argv], { encoding: 'utf8', env });
  return `${stdout}${stderr}`;
}

/**
 * Returns a command prefix that runs a program without tmpfs, as under a seccomp profile: mount(2) with no
 * flags is not permitted. fsopen(2), which newer versions of mount(8) call instead, is not implemented. Perl
 * is part of every Debian and calls the kernel by number.
 */
function withoutTmpfs(): string[] {
  const [prctl, mount, fsopen] = process.arch === 'arm64' ? [167, 40, 430] : [157, 165, 430];
  const [noNewPrivileges, setSeccomp, filterMode] = [38, 22, 2];
  const [load, jumpEqual, answer] = [0x20, 0x15, 0x06];
  const [allowed, notPermitted, notImplemented] = [0x7fff0000, 0x50001, 0x50026];
  const [callNumber, fourthArgument] = [0, 40];
  const filter = [
    ...[load, 0, 0, callNumber],
    ...[jumpEqual, 0, 2, mount],
    ...[load, 0, 0, fourthArgument],
    ...[jumpEqual, 1, 3, 0],
    ...[jumpEqual, 1, 2, fsopen],
    ...[answer, 0, 0, notPermitted],
    ...[answer, 0, 0, notImplemented],
    ...[answer, 0, 0, allowed],
  ];
  const program = `$filter = pack("(SCCL)*", ${filter.join(', ')}); $all = pack("S x6 P", ${filter.length / 4}, $filter);
    syscall(${prctl}, ${noNewPrivileges}, 1, 0, 0, 0) == 0 && syscall(${prctl}, ${setSeccomp}, ${filterMode}, $all) == 0 or die $!;
    exec(@ARGV) or die $!`;
  return ['perl', '-e', program, '--'];
}

test(
  'a kernel that refuses a namespace is detected by an attempt, and one sentence names the cause',
  { skip },
  () => {
    assert.match(refusalWhere('exec "$@"'), /^runs as root\n$/);
    for (const kind of ['user', 'mnt', 'pid', 'uts', 'ipc'])
      assert.match(
        refusalWhere(`echo 0 > /proc/sys/user/max_${kind}_namespaces && exec "$@"`),
        new RegExp(
          `^CLUSTER_UNSUPPORTED the embedded cluster cannot run here: user\\.max_${kind}_namespaces is 0, .*\n$`,
        ),
      );
    const shell = (word: string): string => `'${word}'`;
    const refused = refusalWhere(`exec ${withoutTmpfs().map(shell).join(' ')} "$@"`);
    assert.match(refused, /^CLUSTER_UNSUPPORTED the embedded cluster cannot run here: .+\n$/);
    // A container engine does the same. Below it, the kernel does not allow a /proc that shows more.
    assert.match(
      refusalWhere(`mount -t tmpfs none /proc/sys && exec unshare ${ownRoot.join(' ')} "$@"`),
      /^CLUSTER_UNSUPPORTED the embedded cluster cannot run here: .*(mount: .*proc|hides\s+parts of \/proc).*\n$/,
    );
  },
);
