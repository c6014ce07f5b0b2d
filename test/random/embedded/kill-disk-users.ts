import { readdir, readFile } from 'node:fs/promises';

/** Sends SIGKILL to the processes of a disk's attachment pod: every one that has the script's arguments. */
export async function killDiskUsers(diskCid: string): Promise<void> {
  for (const pid of await readdir('/proc')) {
    if (!/^\d+$/u.test(pid)) continue;
    const commandLine = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
    if (!commandLine.includes(`\0hold\0${diskCid}\0`)) continue;
    try {
      process.kill(Number(pid), 'SIGKILL');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
    }
  }
}
