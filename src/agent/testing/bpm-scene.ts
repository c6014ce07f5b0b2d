import { chmod, chown, mkdir, mkdtemp, readFile, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import type { TestContext } from 'node:test';
import { runBpm } from '../bpm/run-command.ts';
import { systemClock, type Clock } from '../../platform/clock.ts';
import { directoriesOf, type Directories } from '../directories.ts';
import { prepareDirectories } from '../prepare-directories.ts';
import { procProcessTable } from '../process/process-table.ts';
import type { Identities } from '../user/identities.ts';
import { eventually } from './eventually.ts';
import { hostileUser, identitiesWithVcap } from './hostile-user.ts';

export interface BpmAnswer {
  readonly code: number;
  readonly output: string;
  readonly error: string;
}

/** The directories of a VM with jobs that use bpm. Needs root. */
export class BpmScene {
  readonly directories: Directories;
  clock: Clock = systemClock;
  identities: Identities = identitiesWithVcap;

  private constructor(base: string) {
    this.directories = directoriesOf(base);
  }

  static async open(t: TestContext): Promise<BpmScene> {
    const base = await realpath(await mkdtemp(join(tmpdir(), 'bpm-')));
    await chmod(base, 0o755);
    const scene = new BpmScene(base);
    await prepareDirectories(scene.directories, identitiesWithVcap);
    t.after(async () => {
      await endSessionsOf(base);
      await rm(base, { recursive: true });
    });
    return scene;
  }

  path(name: string): string {
    return join(this.directories.base, name);
  }

  /**
   * Adds a job with this bpm.yml, and its directories as the agent creates them. `$BASE` stands for the base
   * directory.
   */
  async addJob(name: string, config: string, programs: Readonly<Record<string, string>> = {}): Promise<void> {
    const job = join(this.directories.jobs, name);
    const files = { 'config/bpm.yml': config, ...programs };
    for (const [path, content] of Object.entries(files)) {
      await mkdir(dirname(join(job, path)), { recursive: true });
      const mode = path.startsWith('bin/') ? 0o755 : 0o644;
      await writeFile(join(job, path), content.replaceAll('$BASE', this.directories.base), { mode });
    }
    for (const directory of [this.directories.log, this.directories.run, this.directories.data]) {
      await mkdir(join(directory, name), { mode: 0o770 });
      await chmod(join(directory, name), 0o770);
      await chown(join(directory, name), 0, hostileUser.gid);
    }
  }

  /** Runs a bpm command in this process. */
  async bpm(...args: readonly string[]): Promise<BpmAnswer> {
    const [stdout, stderr] = [new PassThrough(), new PassThrough()];
    const printed = Promise.all([text(stdout), text(stderr)]);
    const code = await runBpm(args, {
      directories: this.directories,
      identities: this.identities,
      table: procProcessTable,
      ...{ clock: this.clock, stdout, stderr, version: '0.0.0' },
    });
    stdout.end();
    stderr.end();
    const [output, error] = await printed;
    return { code, output, error };
  }

  read(name: string): Promise<string> {
    return readFile(this.path(name), 'utf8');
  }
}

/** Kills all processes in the sessions whose leader has this base directory in its environment. */
async function endSessionsOf(base: string): Promise<void> {
  const sessions = new Set<number>();
  await eventually('the end of all processes', async () => {
    const processes = await procProcessTable.list();
    for (const { pid, sessionId } of processes) {
      if (pid !== sessionId) continue;
      const environment = await readFile(`/proc/${pid}/environ`, 'utf8').catch(() => '');
      if (environment.includes(base)) sessions.add(pid);
    }
    const remaining = processes.filter(({ sessionId }) => sessions.has(sessionId));
    for (const process of remaining) await procProcessTable.signal(process, 'SIGKILL');
    return remaining.length === 0 || undefined;
  });
}
