import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { containerIsMissing, inStemcellContainer } from './testing/stemcell-container.ts';

/**
 * A container of the stemcell, whose /var/vcap/bosh survives a restart, with a log daemon and a cron that
 * keep running and an sshd that prints what it finds and ends the container.
 */
const prepare = `mkdir -p "$state/bosh" "$root/var/vcap/bosh"
mount --bind "$state/bosh" "$root/var/vcap/bosh"
for name in rsyslogd cron; do printf '#!/bin/sh\\nexec sleep 1000\\n' > "$root/usr/sbin/$name"; done
printf '#!/bin/sh\\ncat /etc/ssh/ssh_host_rsa_key.pub\\nssh-keygen -y -f /etc/ssh/ssh_host_rsa_key\\nstat -Lc %%a /etc/ssh/ssh_host_rsa_key\\nkill -TERM 1\\n' > "$root/usr/sbin/sshd"
chmod 755 "$root/usr/sbin/"*
`;

const missing = (): string | false =>
  spawnSync('ssh-keygen', ['-?']).error === undefined ? containerIsMissing() : 'needs ssh-keygen';

test(
  'an RSA host key is at the path that the upstream agent reads, and is the same after a restart of the container',
  { skip: missing() },
  async (t) => {
    const state = await mkdtemp(join(tmpdir(), 'services-'));
    t.after(() => rm(state, { recursive: true }));
    const boot = (): Promise<string> => inStemcellContainer('services.sh', { state, prepare });

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
  const config = await readFile(join(import.meta.dirname, 'root', 'sshd.conf'), 'utf8');
  assert.match(config, /^HostKey \/var\/vcap\/bosh\/ssh\/ssh_host_rsa_key$/mu);
});
