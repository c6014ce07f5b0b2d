import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { eventually } from '../../src/agent/testing/eventually.ts';
import { mainModulePath } from '../../src/cli/installation.ts';
import type { SecurityProfile } from '../../src/cpi/config/profile.ts';
import { createTestAuthority, type TestAuthority } from '../../src/kubernetes/testing/certificates.ts';
import { openStemcell } from '../../src/bosh/stemcell/open-stemcell.ts';
import { openLayout } from '../../src/oci/layout/open-layout.ts';
import { sourceDateEpoch } from '../../src/stemcell/build-settings.ts';
import { rootRequest } from '../../src/stemcell/debian/root-request.ts';
import { listPackages } from '../../src/stemcell/debian/run-mmdebstrap.ts';
import { PrivateContainerd } from './private-containerd.ts';
import { releaseCommands } from './release-commands.ts';
import { podResolvConf, StemcellVm } from './stemcell-vm.ts';

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
  const args = ['build', '--from-debian', '--profile', 'baseline', '--without-compilers', '--output'];
  let containerd: PrivateContainerd | undefined;
  let authority: TestAuthority;

  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'stemcell-'));
    await stemcell('first', ...args, join(directory, 'one'));
    containerd = await PrivateContainerd.start();
    authority = await createTestAuthority();
  });
  after(async () => {
    await containerd?.stop();
    await rm(directory, { recursive: true, force: true });
  });

  /** Starts a VM of the profile, as the CPI does, with the stemcell. */
  async function startVm(profile: SecurityProfile): Promise<StemcellVm> {
    assert.ok(containerd !== undefined);
    const load = ['load', join(directory, 'one'), '--address', containerd.address];
    const image = (await stemcell('first', ...load)).trim();
    return StemcellVm.start(containerd, {
      image,
      profile,
      directory,
      settings: await agentSettings(authority),
    });
  }

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

  test('is called by its own operating system, and by no other', async () => {
    const light = await openStemcell({
      ...{ archivePath: join(directory, 'one', 'stemcell.tgz'), directory: join(directory, 'light') },
      within: directory,
    });
    assert.equal(light.operatingSystem, 'debian-bookworm');
    const { agent, agent_bus: bus } = light.cloudProperties;
    assert.deepEqual([agent, bus], ['bosh-kubernetes', 'nats']);
    const other = ['--from', join(directory, 'one', 'image'), '--operating-system', 'ubuntu-noble'];
    await assert.rejects(
      stemcell('first', 'build', ...other, '--output', join(directory, 'noble')),
      /os-release of the image says that it is debian-bookworm/u,
    );
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
    const vm = await startVm('baseline');
    const inside = (command: string): Promise<string> => vm.run(command);
    const answer = await eventually('the agent', () => inside(agentCall('ping')).catch(() => undefined));
    assert.equal(answer, '{"value":"pong"}');
    await trustAuthority(vm, authority);
    const fingerprint = await eventually('sshd', () =>
      inside('ssh-keyscan -t ed25519 127.0.0.1 2> /dev/null | grep ssh-ed25519').catch(() => undefined),
    );
    const key = await inside('cut -d " " -f 2 /var/vcap/bosh/ssh/ssh_host_ed25519_key.pub');
    assert.ok(fingerprint.includes(key.trim()));
    // Upstream's agent returns this file for `bosh ssh`, and the bosh CLI expects sshd to have this key.
    const published = await inside('cut -d " " -f 2 /etc/ssh/ssh_host_rsa_key.pub');
    const offered = await inside('ssh-keyscan -t rsa 127.0.0.1 2> /dev/null');
    assert.ok(published.trim().length > 300 && offered.includes(published.trim()), offered);
    await inside('getent group syslog');
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
      const pid = await vm.pid();
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
    // No other file can be put there.
    assert.equal(await inside('[ ! -L /etc/resolv.conf ] && cat /etc/resolv.conf'), podResolvConf);
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
    await vm.restart();
    const again = await eventually('sshd, started again', () =>
      inside('ssh-keyscan -t ed25519 127.0.0.1 2> /dev/null | grep ssh-ed25519').catch(() => undefined),
    );
    assert.equal(again, fingerprint);
    await eventually('the agent with its certificate store', () =>
      inside(verifiedPing).catch(() => undefined),
    );
  });

  for (const profile of ['privileged', 'sys-admin'] as const)
    test(`scripts of a director, of bosh-dns and of Garden run on a VM under ${profile}`, async () => {
      const vm = await startVm(profile);
      await eventually('resolvconf', () => vm.run('[ -L /etc/resolv.conf ]').catch(() => undefined));
      for (const { caller, script, needsPrivileged = false } of releaseCommands) {
        const failure = await vm.run(script).then(
          () => undefined,
          (error: unknown) => String(error),
        );
        const isRefused = needsPrivileged && profile === 'sys-admin';
        assert.equal(failure !== undefined, isRefused, `${caller}: ${script}: ${failure}`);
      }
      // As after a boot, cron does not wait for the next minute.
      await vm.run("echo '@reboot touch /run/cron-ran' | crontab - && rm /run/crond.reboot && pkill -x cron");
      await rotateLogs(vm);
      await eventually('cron', () => vm.run('[ -e /run/cron-ran ]').catch(() => undefined));
    });

  test('the mirrors have the compilers and headers of published stemcells', async () => {
    const request = { profile: 'baseline', hasCompilers: true, mirrors: [], include: [], epoch: 0 } as const;
    const context = { signal: AbortSignal.timeout(300_000), environment: process.env, user: 0 };
    for (const suite of ['bookworm', 'trixie']) {
      const packages = await listPackages(rootRequest({ suite, ...request }), context);
      for (const name of [
        ...['gcc', 'g++', 'clang', 'make', 'cmake', 'm4', 'patch', 'bison', 'flex', 'xxd', 'python3'],
        ...['autoconf', 'automake', 'libtool', 'autopoint', 'gettext'],
        ...['libssl-dev', 'libtirpc-dev', 'libicu-dev'],
      ])
        assert.ok(packages.includes(`\n${name} `), `${name} in ${suite}`);
    }
  });
});

/** Runs what cron runs each hour, with large logs of the system and of a job. */
async function rotateLogs(vm: StemcellVm): Promise<void> {
  const large = (path: string): string => `head -c 12000000 /dev/zero >> ${path}`;
  const job = '/var/vcap/sys/log/web/web.log';
  await vm.run(`mkdir -p -m 777 $(dirname ${job}) && ${large(job)} && ${large('/var/log/syslog')}`);
  // What an upstream agent writes: without `su`, and with paths through folders of job users.
  await vm.run(
    "printf '/var/vcap/data/sys/log/*/*.log {\\n missingok\\n rotate 7\\n copytruncate\\n compress\\n size=1M\\n}\\n' > /etc/logrotate.d/vcap",
  );
  await vm.run('run-parts --report /etc/cron.hourly');
  assert.equal(await vm.run(`stat -c %s ${job}`), '0\n');
  await vm.run(`[ -e ${job}.1.gz ] && [ -s /var/log/syslog.1 ]`);
  await eventually('a line of the rotated log', () =>
    vm.run('logger --tag canary rotated && grep "canary: rotated" /var/log/syslog').catch(() => undefined),
  );
}

/** Returns the command of curl that calls the agent. */
function agentCall(method: string, args: readonly unknown[] = [], options = '-k'): string {
  const body = JSON.stringify({ method, arguments: args, reply_to: 'x' });
  return `curl -s ${options} -u mbus:secret https://127.0.0.1:6868/agent -d '${body}'`;
}

/** The system's certificate store verifies the agent's own certificate. */
const verifiedPing = agentCall('ping', [], '');

/** Makes the authority of the agent's certificate one of the system's by the real update-ca-certificates. */
async function trustAuthority(vm: StemcellVm, { ca }: TestAuthority): Promise<void> {
  assert.equal(await vm.run(`${verifiedPing} || echo "$?"`), '60\n', 'the CA is unknown to curl');
  const { value } = JSON.parse(await vm.run(agentCall('update_settings', [{ trusted_certs: ca }])));
  const end = await eventually('update_settings', async () => {
    const answer = await vm.run(agentCall('get_task', [value.agent_task_id]));
    return answer.includes('running') ? undefined : answer;
  });
  assert.equal(end, '{"value":"ok"}');
  assert.equal(await vm.run(verifiedPing), '{"value":"pong"}');
}

async function agentSettings(authority: TestAuthority): Promise<string> {
  const { certificate, key } = await authority.server({ ip: '127.0.0.1' });
  return JSON.stringify({
    agent_id: 'agent-1',
    vm: { name: 'vm-agent-1' },
    mbus: 'https://mbus:secret@0.0.0.0:6868',
    networks: { default: { type: 'manual', ip: '127.0.0.1' } },
    env: { bosh: { mbus: { cert: { certificate, private_key: key } } } },
  });
}
