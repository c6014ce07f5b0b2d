import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { eventually } from '../../src/agent/testing/eventually.ts';
import { mainModulePath } from '../../src/cli/installation.ts';
import { entryScript } from '../../src/cpi/vm/scripts/entry.ts';
import { createTestAuthority } from '../../src/kubernetes/testing/certificates.ts';
import { openLayout } from '../../src/oci/layout/open-layout.ts';
import { sourceDateEpoch } from '../../src/stemcell/build-settings.ts';
import { PrivateContainerd } from './private-containerd.ts';

const run = promisify(execFile);
const checkout = join(import.meta.dirname, '..', '..');

function missing(): string | false {
  if (process.geteuid?.() !== 0) return 'needs root';
  const programs = ['mmdebstrap', 'containerd', 'ctr', 'runc'];
  const lacking = programs.filter((program) => spawnSync(program, ['--version']).error !== undefined);
  return lacking.length > 0 && `needs ${lacking.join(', ')}`;
}

function sshIsMissing(): string | false {
  const lacking = ['ssh', 'ssh-keygen'].filter((program) => spawnSync(program, ['-V']).error !== undefined);
  return lacking.length > 0 && 'needs the Debian package openssh-client';
}

let directory = '';

/** Runs `bosh-kubernetes stemcell` and returns its output. */
async function stemcell(cache: string, ...args: readonly string[]): Promise<string> {
  const { stdout } = await run(process.execPath, [mainModulePath(checkout), 'stemcell', ...args], {
    env: { ...process.env, XDG_CACHE_HOME: join(directory, cache) },
    timeout: 580_000,
  });
  return stdout;
}

/** A stemcell that a real mmdebstrap made, which takes one minute, or several on a busy machine. */
describe('a stemcell of Debian', { skip: missing() }, () => {
  const args = ['build', '--from-debian', '--profile', 'baseline', '--output'];

  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'stemcell-'));
    await stemcell('first', ...args, join(directory, 'one'));
  });
  after(() => rm(directory, { recursive: true, force: true }));

  test('is equal byte for byte when it is made from nothing again', async () => {
    await stemcell('second', ...args, join(directory, 'two'));
    const [one, two] = [join(directory, 'one'), join(directory, 'two')];
    const packages = await Promise.all(
      [one, two].map((path) => readFile(join(path, 'packages.txt'), 'utf8')),
    );
    assert.equal(packages[0], packages[1]);
    assert.match(packages[0] ?? '', /^openssh-server 1:\S+ amd64$/m);
    const { stdout } = await run('diff', ['--recursive', '--brief', one, two]);
    assert.equal(stdout, '');
  });

  test('holds nothing that is dated later than SOURCE_DATE_EPOCH, and no host key', async () => {
    const epoch = sourceDateEpoch(process.env['SOURCE_DATE_EPOCH']);
    const layout = join(directory, 'one', 'image');
    let shadow = '';
    for (const { digest } of (await openLayout(layout)).layers) {
      const blob = join(layout, 'blobs', 'sha256', digest.slice('sha256:'.length));
      const tar = (...more: readonly string[]): Promise<{ stdout: string }> =>
        run('tar', ['--gzip', '--file', blob, '--utc', ...more], { maxBuffer: 1 << 28 });
      const { stdout } = await tar('--list', '--verbose', '--full-time');
      const lines = stdout.trimEnd().split('\n');
      const dateOf = (line: string): number => {
        const [, day = '', time = ''] = / (\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d)/u.exec(line) ?? [];
        return Date.parse(`${day}T${time}Z`) / 1000;
      };
      assert.deepEqual(
        lines.filter((line) => !(dateOf(line) <= epoch)),
        [],
      );
      // Created at the first boot, so that VMs of one stemcell have different keys.
      assert.deepEqual(
        lines.filter((line) => line.includes('ssh_host_')),
        [],
      );
      if (lines.some((line) => line.endsWith(' ./etc/shadow')))
        shadow = (await tar('--extract', '--to-stdout', './etc/shadow')).stdout;
    }
    const days = shadow
      .trimEnd()
      .split('\n')
      .map((line) => Number(line.split(':')[2]));
    assert.ok(days.length > 10 && days.every((day) => day * 86_400 <= epoch), shadow);
  });

  test('its entry script starts the agent and sshd in a container of the CPI, and ends on TERM', async (t) => {
    const containerd = await PrivateContainerd.start();
    t.after(() => containerd.stop());
    const reference = (
      await stemcell('first', 'load', join(directory, 'one'), '--address', containerd.address)
    ).trim();
    const settings = join(directory, 'settings.json');
    await writeFile(settings, await agentSettings());
    const bind = (source: string, target: string): string[] => [
      '--mount',
      `type=bind,src=${source},dst=${target},options=rbind:ro`,
    ];
    await containerd.ctr(
      ...['run', '--detach', ...bind(settings, '/var/vcap/bosh/warden-cpi-agent-env.json')],
      ...['--mount', 'type=tmpfs,src=hub,dst=/warden-cpi-dev', reference, 'vm'],
      ...['/bin/sh', '-c', entryScript],
    );
    let count = 0;
    const inside = (command: string): Promise<string> => {
      count += 1;
      return containerd.ctr('task', 'exec', '--exec-id', `e${count}`, 'vm', '/bin/sh', '-c', command);
    };
    const ping = `curl -sk -u mbus:secret https://127.0.0.1:6868/agent -d '{"method":"ping","arguments":[],"reply_to":"x"}'`;
    const answer = await eventually('the agent', () => inside(ping).catch(() => undefined));
    assert.equal(answer, '{"value":"pong"}');
    const fingerprint = await eventually('sshd', () =>
      inside('ssh-keyscan -t ed25519 127.0.0.1 2> /dev/null | grep ssh-ed25519').catch(() => undefined),
    );
    const key = await inside('cut -d " " -f 2 /var/vcap/bosh/ssh/ssh_host_ed25519_key.pub');
    assert.ok(fingerprint.includes(key.trim()));
    // Upstream's agent returns this file for `bosh ssh`, and the bosh CLI expects sshd to have this key.
    const published = await inside('cut -d " " -f 2 /etc/ssh/ssh_host_rsa_key.pub');
    const offered = await inside('ssh-keyscan -t rsa 127.0.0.1 2> /dev/null');
    assert.ok(published.trim().length > 300 && offered.includes(published.trim()), offered);
    assert.match(await inside('getent group syslog'), /^syslog:/);
    const documents = '/usr/share/doc/bosh-kubernetes';
    const notices = await inside(`head -n 2 ${documents}/LICENSE; cat ${documents}/NOTICE`);
    for (const text of [
      /Apache License/,
      /^@oven\/bun-linux-x64 \d[^]*JavaScriptCore/m,
      /^modern-tar \d[^]*MIT/m,
    ])
      assert.match(notices, text);
    await eventually('a line of the log', () =>
      inside('logger --tag canary spoke && grep "canary: spoke" /var/log/syslog').catch(() => undefined),
    );
    await t.test('a member of bosh_sshers logs in by key', { skip: sshIsMissing() }, async () => {
      const pid = /^vm\s+(\d+)/mu.exec(await containerd.ctr('task', 'list'))?.[1] ?? '';
      const identity = join(directory, 'identity');
      await run('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', identity]);
      const authorized = (await readFile(`${identity}.pub`, 'utf8')).trim();
      await writeFile(join(directory, 'known'), `${fingerprint.trim()}\n`);
      const login = (user: string): Promise<{ stdout: string }> =>
        run('nsenter', [
          ...[`--net=/proc/${pid}/ns/net`, 'ssh', '-F', 'none', '-i', identity, '-o', 'BatchMode=yes'],
          ...['-o', `UserKnownHostsFile=${join(directory, 'known')}`, '-o', 'StrictHostKeyChecking=yes'],
          ...['-o', 'IdentityAgent=none', `${user}@127.0.0.1`, 'id', '-un'],
        ]);
      for (const [user, group] of [
        ['member', 'bosh_sshers'],
        ['stranger', 'nogroup'],
      ] as const)
        await inside(
          `useradd --create-home --shell /bin/bash --groups ${group} ${user} && mkdir -m 700 /home/${user}/.ssh && ` +
            `echo '${authorized}' > /home/${user}/.ssh/authorized_keys && chown -R ${user} /home/${user}/.ssh`,
        );
      assert.equal((await login('member')).stdout, 'member\n');
      await assert.rejects(login('stranger'), /Permission denied \(publickey\)/u);
    });
    assert.match(await inside('id vcap'), /^uid=1000\(vcap\) gid=1000\(vcap\)/);
    // The programs that scripts of VM and attachment pods call.
    await inside(
      'for tool in awk find flock grep mount mountpoint setpriv stat umount; do command -v $tool; done',
    );
    // PID 1 adopts and reaps an orphan.
    await inside('sh -c "sleep 0.1 &"; exit 0');
    await eventually('the orphan to be reaped', async () => {
      const states = await inside('cat /proc/[0-9]*/stat 2> /dev/null || true');
      return /\) Z /.test(states) ? undefined : true;
    });
    await containerd.ctr('task', 'kill', '--signal', 'SIGTERM', 'vm');
    await eventually('the container to end', async () =>
      /vm\s+\d+\s+STOPPED/.test(await containerd.ctr('task', 'list')) ? true : undefined,
    );
    await containerd.ctr('task', 'delete', 'vm');
    await containerd.ctr('task', 'start', '--detach', 'vm');
    const again = await eventually('sshd, started again', () =>
      inside('ssh-keyscan -t ed25519 127.0.0.1 2> /dev/null | grep ssh-ed25519').catch(() => undefined),
    );
    assert.equal(again, fingerprint);
  });
});

async function agentSettings(): Promise<string> {
  const authority = await createTestAuthority();
  const { certificate, key } = await authority.server({ ip: '127.0.0.1' });
  return JSON.stringify({
    agent_id: 'agent-1',
    vm: { name: 'vm-agent-1' },
    mbus: 'https://mbus:secret@0.0.0.0:6868',
    networks: { default: { type: 'manual', ip: '127.0.0.1' } },
    env: { bosh: { mbus: { cert: { certificate, private_key: key } } } },
  });
}
