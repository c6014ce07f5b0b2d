import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { mkdir, mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { isProductError } from '../../../src/errors/product-error.ts';
import { systemClock } from '../../../src/platform/clock.ts';
import { runCommand } from '../command.ts';
import { safeRemove } from '../../../src/platform/safe-remove.ts';
import { describeInNamespace } from '../testing/in-namespace.ts';
import { copyTree, copyVolume } from './copy-volume.ts';

/** The numbers of the system calls inotify_init1, inotify_add_watch and renameat2. */
const numbers: Readonly<Record<string, string>> = { x64: '294, 254, 316', arm64: '26, 27, 276' };

/**
 * Acts as root of a VM: below $ARGV[0], under a name that is not UTF-8, it creates many directories and as
 * many symlinks to $ARGV[1]. When one of the directories is opened, it exchanges one of the next directories
 * for a symlink.
 */
const attacker = `
my ($init, $watch, $rename) = (${numbers[process.arch] ?? ''});
my ($base, $target) = @ARGV;
mkdir "$base/\\xff" or die; chdir "$base/\\xff" or die; mkdir "a"; mkdir "z";
my $in = syscall($init, 0);
my (@names, %inode);
for (0 .. 399) { my $name = sprintf "%06d", $_; mkdir "a/$name"; symlink $target, "z/$name"; $inode{$name} = (lstat "a/$name")[1]; }
my @order = sort { $inode{$a} <=> $inode{$b} } keys %inode;
my %at;
for (0 .. $#order) { my $path = "a/$order[$_]"; $at{syscall($watch, $in, $path, 0x01000020)} = $_; }
$| = 1; print "ready\\n";
open my $events, "<&=", $in;
for (my $count = 0; sysread $events, my $event, 16; $count++) {
  my $next = $at{unpack "l", $event} // next;
  my $name = $order[$next + 1 + $count % 3] // next;
  my ($from, $to) = ("a/$name", "z/$name");
  syscall $rename, -100, $from, -100, $to, 2;
}`;

const skip = spawnSync('perl', ['-e', '1']).status === 0 ? false : 'needs perl, for the attacker';

describeInNamespace(import.meta.filename, () => {
  /** Creates a volume with an active attacker, and a volume of another VM beside it. */
  async function attacked(
    t: TestContext,
  ): Promise<{ volume: string; copy: string; stolen: () => Promise<string> }> {
    const directory = await mkdtemp(join(tmpdir(), 'bosh-kubernetes-copied-'));
    const [volume, other, copy] = ['evil', 'other', 'copy'].map((name) => join(directory, name)) as [
      ...[string, string, string],
    ];
    for (const path of [volume, other]) await mkdir(path);
    await writeFile(join(other, 'secret'), 'of another VM');
    const evil = spawn('perl', ['-e', attacker, volume, other], { stdio: ['ignore', 'pipe', 'inherit'] });
    t.after(async () => {
      evil.kill('SIGKILL');
      await once(evil, 'close');
      await safeRemove(directory);
    });
    await once(evil.stdout, 'data');
    const stolen = async (): Promise<string> => (await runCommand('find', [copy, '-name', 'secret'])).stdout;
    return { volume, copy, stolen };
  }

  test(
    'a VM that replaces directories by links during a copy of its disk brings in no file of another disk',
    { skip },
    async (t) => {
      const { volume, copy, stolen } = await attacked(t);
      await copyVolume(volume, copy, systemClock).catch((error: unknown) => {
        if (!isProductError(error, 'VOLUME_BUSY')) throw error;
      });
      assert.equal(await stolen(), '');
    },
  );

  test('cp itself, which follows such a link, finds no file there', { skip }, async (t) => {
    const { volume, copy, stolen } = await attacked(t);
    await mkdir(copy);
    await copyTree(volume, copy);
    assert.equal(await stolen(), '');
    assert.notEqual((await runCommand('find', [copy, '-name', '000000'])).stdout, '');
  });

  test('a change below a name that is not UTF-8 is detected during a copy', async (t) => {
    const directory = await mkdtemp(join(tmpdir(), 'bosh-kubernetes-copied-'));
    t.after(() => safeRemove(directory));
    const volume = join(directory, 'volume');
    await mkdir(volume);
    const subdirectory = Buffer.concat([Buffer.from(`${volume}/`), Buffer.from([0xff])]);
    await mkdir(subdirectory);
    const file = Buffer.concat([subdirectory, Buffer.from('/log')]);
    let writes = 0;
    const writing = {
      ...systemClock,
      now: () => {
        writes += 1;
        writeFileSync(file, 'x'.repeat(writes));
        return Date.now() + 60_000;
      },
    };
    await assert.rejects(copyVolume(volume, join(directory, 'copy'), writing), (error) =>
      isProductError(error, 'VOLUME_BUSY'),
    );
  });
});
