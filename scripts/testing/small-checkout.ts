import { spawn } from 'node:child_process';
import { chmod, cp, mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import type { TestContext } from 'node:test';

type Step = 'ensureInstalled' | 'ensureBuilt';

interface Start {
  readonly pid: number;
  readonly ended: Promise<{
    readonly exitCode: number | null;
    readonly stdout: string;
    readonly stderr: string;
  }>;
}

/** A checkout with the scripts that install and build; npm and the pinned Node are programs of the test. */
export interface SmallCheckout {
  readonly directory: string;
  readonly pinnedNode: string;
  /**
   * The program that installs or builds: it writes its pid to `running/`, and ends when it is released or the
   * checkout is removed.
   */
  readonly slowly: string;
  writeScript(path: string, script: string): Promise<void>;
  start(step: Step): Start;
  /** Runs `bosh-kubernetes` with these variables and PATH. */
  command(args: readonly string[], environment?: Readonly<Record<string, string>>): Start;
  /** Returns the pids of the programs that have started so far. */
  running(): Promise<number[]>;
  release(): Promise<void>;
}

export async function smallCheckout(t: TestContext): Promise<SmallCheckout> {
  const directory = await mkdtemp(join(tmpdir(), 'bosh-kubernetes-scripts-'));
  t.after(() => rm(directory, { recursive: true, force: true }));
  for (const path of ['src', 'embedded-cluster', 'release', 'examples/hello/release', 'dist', 'running'])
    await mkdir(join(directory, path), { recursive: true });
  const scripts = dirname(import.meta.dirname);
  await cp(scripts, join(directory, 'scripts'), { recursive: true });
  await cp(join(dirname(scripts), 'bin'), join(directory, 'bin'), { recursive: true });
  await writeFile(join(directory, 'package-lock.json'), '{}');
  return {
    directory,
    pinnedNode: join(directory, 'node_modules', `node-linux-${process.arch}`, 'bin', 'node'),
    slowly: `#!/bin/sh
[ "$1" = --version ] && exit
echo > ${directory}/running/$$
while [ -e ${directory}/running ] && [ ! -e ${directory}/released ]; do sleep 0.02; done
`,
    writeScript: async (path: string, script: string): Promise<void> => {
      await mkdir(dirname(path), { recursive: true });
      await writeFile(path, script);
      await chmod(path, 0o755);
    },
    start: (step: Step) => start(directory, ['--input-type=module', '--eval', scriptOf(step)]),
    command: (args: readonly string[], environment?: Readonly<Record<string, string>>) =>
      start(directory, [join(directory, 'bin', 'bosh-kubernetes.mjs'), ...args], environment),
    running: async () => (await readdir(join(directory, 'running'))).map(Number),
    release: () => writeFile(join(directory, 'released'), ''),
  };
}

const scriptOf = (step: Step): string =>
  `import * as steps from './scripts/${step === 'ensureBuilt' ? 'ensure-built' : 'ensure-installed'}.mjs';
    if ((await steps.${step}()) === false) process.exit(2);`;

function start(
  directory: string,
  args: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): Start {
  const child = spawn(process.execPath, args, {
    cwd: directory,
    env: { ...environment, PATH: `${join(directory, 'bin')}:${process.env['PATH']}` },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const output = Promise.all([text(child.stdout), text(child.stderr)]);
  const exited = new Promise<number | null>((resolve, reject) => {
    child.on('error', reject);
    child.on('exit', resolve);
  });
  // processes that it started may outlive it, and they have its stderr
  const ended = exited.then(async (exitCode) => {
    const [stdout, stderr] = exitCode === null ? ['', ''] : await output;
    return { exitCode, stdout, stderr };
  });
  return { pid: child.pid ?? 0, ended };
}
