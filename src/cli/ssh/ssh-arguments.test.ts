import assert from 'node:assert/strict';
import { test } from 'node:test';
import { tailCommand } from './logs.ts';
import { scpArguments, sshArguments, type SshLogin } from './openssh.ts';
import { parseLogsArguments, parseScpArguments, parseSshArguments } from './ssh-arguments.ts';

const refused = (message: RegExp) => ({ code: 'INVALID_ARGUMENT', message });

test('ssh accepts the inputs of a manifest, and a command with flags of its own after --', () => {
  const parsed = parseSshArguments([
    ...['m.yml', '--state', 's.json', '-o', 'ops.yml', '--opts=-p32022', '--', 'ls', '-l', '--', '/x'],
  ]);
  assert.deepEqual(parsed.command, ['ls', '-l', '--', '/x']);
  assert.deepEqual(parsed.sshOptions, ['-p32022']);
  assert.deepEqual([parsed.inputs.statePath, parsed.inputs.opsFiles], ['s.json', ['ops.yml']]);
  assert.throws(() => parseSshArguments(['m.yml', 'ls']), refused(/comes after --/));
  assert.throws(
    () => parseSshArguments([]),
    refused(/A manifest is missing.*Usage: ssh MANIFEST\|DIRECTORY/),
  );
  assert.throws(() => parseSshArguments(['m.yml', '--sate', 's']), refused(/--sate/));
});

test('scp takes the text before a colon for the VM', () => {
  const { paths, recursive } = parseScpArguments(['-r', 'm.yml', 'a', './b:c', 'director:/tmp/x:y']);
  assert.ok(recursive);
  assert.deepEqual(paths, [
    { path: 'a', isInVm: false },
    { path: './b:c', isInVm: false },
    { path: '/tmp/x:y', isInVm: true },
  ]);
  assert.throws(() => parseScpArguments(['m.yml', 'a', 'b']), refused(/No path is in the VM/));
  assert.throws(() => parseScpArguments(['m.yml', 'vm:a']), refused(/a path to copy to/));
});

test('logs shows the logs of jobs by default, and accepts the name of a job', () => {
  const of = (...args: string[]) => parseLogsArguments(['m.yml', ...args]);
  assert.deepEqual(of().types, ['job']);
  assert.deepEqual(of('--all-logs').types, ['agent', 'job', 'system']);
  assert.deepEqual(of('--job', 'web', '--job', 'db').filters, ['web/**/*', 'db/**/*']);
  assert.deepEqual(of('--only', 'web/*.log,db/*').filters, ['web/*.log', 'db/*']);
  assert.deepEqual(
    tailCommand(of('-f', '--job', 'web', '--num', '3'))
      .at(-1)
      ?.split(' '),
    [
      ..."'find /var/vcap/sys/log/web/ -type f".split(' '),
      ...'! -name "*.gz" ! -name "*.xz" ! -name "*.[0-9]" ! -name "*tmp" ! -name "lastlog" ! -name "faillog"'.split(
        ' ',
      ),
      ..."-print0 | xargs -0 -r tail -n 3 -F --'".split(' '),
    ],
  );
  for (const job of ["w';id;'", '../x', '-x', ''])
    assert.throws(() => of(`--job=${job}`), refused(/not a valid job name/));
  assert.throws(
    () => of('--agent', '--job', 'web'),
    refused(/--job cannot be used with --agent or --system/),
  );
  assert.throws(() => of('-f', '--only', 'x'), refused(/cannot be used with/));
  assert.throws(() => of('--num', '0'), refused(/number of lines/));
});

test('our options for OpenSSH come first, so that no option of the operator weakens the check of the host key', () => {
  const login: SshLogin = {
    ...{ user: 'bosh_1', address: '2001:db8::5', directory: '/a "b" 5%' },
    options: ['-o', 'StrictHostKeyChecking=no'],
  };
  const args = sshArguments(login, ['id']);
  assert.ok(args.indexOf('StrictHostKeyChecking=yes') < args.indexOf('StrictHostKeyChecking=no'));
  assert.ok(args.includes(String.raw`IdentityFile="/a \"b\" 5%%/key"`));
  assert.deepEqual(args.slice(-5), ['-l', 'bosh_1', '--', '2001:db8::5', 'id']);
  const copied = scpArguments(login, [
    { path: '-x', isInVm: false },
    { path: '/y', isInVm: true },
  ]);
  assert.deepEqual(copied.slice(-3), ['--', '-x', 'bosh_1@[2001:db8::5]:/y']);
});
