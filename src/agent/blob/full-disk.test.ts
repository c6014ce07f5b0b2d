import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';

const unshare = ['--mount', ...(process.getuid?.() === 0 ? [] : ['--map-root-user'])];
const skip = spawnSync('unshare', [...unshare, 'true']).status === 0 ? false : 'needs unshare --mount';

test('an upload to a full VM fails immediately with the path and the next step', { skip }, async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'agent-full-'));
  t.after(() => rm(directory, { recursive: true }));
  const [small, blob] = [join(directory, 'small'), join(directory, 'blob')];
  await mkdir(small);
  await writeFile(blob, Buffer.alloc(16 << 20));
  const program = join(import.meta.dirname, '../testing/full-vm.ts');
  const script = 'mount -t tmpfs -o size=1m tmpfs "$1" && TMPDIR="$1" exec "$2" "$3" "$4"';
  const args = ['sh', '-c', script, 'sh', small, process.execPath, program, blob];
  const { stdout, stderr } = spawnSync('unshare', [...unshare, ...args], { encoding: 'utf8' });
  assert.match(
    stdout,
    /^The agent at https:\S+ answered PUT of blob '\S+' with HTTP status 507: ENOSPC: no space left on device, write '\/\S+'; free space on the file system of that path, in the VM\n$/u,
    stderr,
  );
});

test('hosts that cannot be written to a full disk stay as they were', { skip }, async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'agent-full-'));
  t.after(() => rm(directory, { recursive: true }));
  const program = join(import.meta.dirname, '../testing/full-hosts.ts');
  // as the kubelet mounts /etc/hosts
  const script = `set -e
mkdir "$1/node" && mount -t tmpfs -o size=16k tmpfs "$1/node"
printf '127.0.0.1 localhost\\n10.0.0.7 vm-1\\n' > "$1/node/hosts"
touch "$1/hosts" && mount --bind "$1/node/hosts" "$1/hosts"
"$2" "$3" "$1"; cat "$1/hosts"`;
  const args = ['sh', '-c', script, 'sh', directory, process.execPath, program];
  const { stdout, stderr } = spawnSync('unshare', [...unshare, ...args], { encoding: 'utf8' });
  assert.match(
    stdout,
    /^ENOSPC: no space left on device, write '\S+\/hosts'\n127\.0\.0\.1 localhost\n10\.0\.0\.7 vm-1\n$/u,
    stderr,
  );
});
