import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';

const run = promisify(execFile);
const scripts = join(import.meta.dirname, 'root');
const namespaces = ['--user', '--map-root-user', '--mount', '--pid', '--fork', '--kill-child'];

/**
 * A container of the stemcell, whose /var/vcap/bosh survives a restart: services.sh is PID 1, with a log
 * daemon that keeps running and an sshd that prints what it finds and ends the container.
 */
const container = `set -eu
state=$1
root=$state/root
mkdir -p "$root" "$state/bosh"
mount -t tmpfs none "$root"
mkdir -p "$root/usr" "$root/dev" "$root/proc" "$root/run" "$root/etc/ssh" "$root/var/vcap/bosh"
for name in bin sbin lib lib64; do
  if [ -L "/$name" ]; then cp -P "/$name" "$root/$name"
  elif [ -d "/$name" ]; then mkdir "$root/$name"; mount --rbind "/$name" "$root/$name"; fi
done
mount --rbind /usr "$root/usr"
mount -t tmpfs none "$root/usr/sbin"
mount --rbind /dev "$root/dev"
mount -t proc proc "$root/proc"
mount --bind "$state/bosh" "$root/var/vcap/bosh"
echo 'root:x:0:0:root:/root:/bin/sh' > "$root/etc/passwd"
printf '#!/bin/sh\\nexec sleep 1000\\n' > "$root/usr/sbin/rsyslogd"
printf '#!/bin/sh\\ncat /etc/ssh/ssh_host_rsa_key.pub\\nssh-keygen -y -f /etc/ssh/ssh_host_rsa_key\\nstat -Lc %%a /etc/ssh/ssh_host_rsa_key\\nkill -TERM 1\\n' > "$root/usr/sbin/sshd"
chmod 755 "$root/usr/sbin/rsyslogd" "$root/usr/sbin/sshd"
cp "$2/services.sh" "$root/services"
exec chroot "$root" /bin/sh /services
`;

const missing = (): string | false => {
  if (spawnSync('ssh-keygen', ['-?']).error !== undefined) return 'needs ssh-keygen';
  const probe = spawnSync('unshare', [...namespaces, 'mount', '-t', 'tmpfs', 'none', '/mnt']);
  return probe.status === 0 ? false : 'needs user, mount and pid namespaces';
};

test(
  'an RSA host key is at the path that the upstream agent reads, and is the same after a restart of the container',
  { skip: missing() },
  async (t) => {
    const state = await mkdtemp(join(tmpdir(), 'services-'));
    t.after(() => rm(state, { recursive: true }));
    const boot = async (): Promise<string> =>
      (await run('unshare', [...namespaces, '/bin/sh', '-c', container, 'sh', state, scripts])).stdout;

    const [published, key, mode] = (await boot()).split('\n');
    assert.match(`${published}`, /^ssh-rsa AAAA\S+ ?$/u);
    assert.equal(key, published?.trim());
    assert.equal(mode, '600');
    assert.equal((await boot()).split('\n')[0], published);
    const kept = await readFile(join(state, 'bosh/ssh/ssh_host_rsa_key.pub'), 'utf8');
    assert.equal(kept.trim(), published?.trim());
  },
);

test('sshd uses the host key that the agent reports to the bosh CLI', async () => {
  const config = await readFile(join(scripts, 'sshd.conf'), 'utf8');
  assert.match(config, /^HostKey \/var\/vcap\/bosh\/ssh\/ssh_host_rsa_key$/mu);
});
