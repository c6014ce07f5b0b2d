import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';

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

/** Writes a file as the kubelet mounts /etc/hosts, on a file system of that size, and returns the output. */
async function writeHosts(t: TestContext, size: string): Promise<{ stdout: string; stderr: string }> {
  const directory = await mkdtemp(join(tmpdir(), 'agent-full-'));
  t.after(() => rm(directory, { recursive: true }));
  const program = join(import.meta.dirname, '../testing/full-hosts.ts');
  const script = `set -e
mkdir "$1/node" && mount -t tmpfs -o size="$4" tmpfs "$1/node"
printf '127.0.0.1 localhost\\n10.0.0.7 vm-1\\n' > "$1/node/hosts"
touch "$1/hosts" && mount --bind "$1/node/hosts" "$1/hosts"
"$2" "$3" "$1"; cat "$1/hosts"`;
  const args = ['sh', '-c', script, 'sh', directory, process.execPath, program, size];
  return spawnSync('unshare', [...unshare, ...args], { encoding: 'utf8' });
}

test('hosts that cannot be written to a full disk stay as they were', { skip }, async (t) => {
  const { stdout, stderr } = await writeHosts(t, '16k');
  assert.match(
    stdout,
    /^ENOSPC: no space left on device, write '\S+\/hosts'\n127\.0\.0\.1 localhost\n10\.0\.0\.7 vm-1\n$/u,
    stderr,
  );
});

test('hosts that are mounted, and cannot be replaced, are written in place', { skip }, async (t) => {
  const { stdout, stderr } = await writeHosts(t, '1m');
  const lines = stdout.trimEnd().split('\n');
  assert.equal(lines[0], '127.0.0.1 localhost agent-1', stderr);
  assert.ok(lines.includes('10.0.0.7 vm-1'));
  assert.equal(lines.filter((line) => line.startsWith('10.0.0.8 ')).length, 5000);
  assert.equal(lines.at(-1), '10.0.0.8 name-4999.bosh');
});
