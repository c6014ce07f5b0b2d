import { existsSync } from 'node:fs';
import { mkdir, rename, rm, mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { withFileLock } from './directory-cache.ts';
import { goModule, programs, type Program, type ProgramName, oldestGo, pins } from './programs.ts';
import { spawn } from 'node:child_process';

/**
 * Builds the programs that are not in the cache, one after the other, so that a kill loses at most one of
 * them. Returns the path of each. Needs Go and, for modules that are not downloaded yet, its module proxy.
 */
export async function buildPrograms(
  cache: string,
  names: readonly ProgramName[],
  report: (sentence: string) => void,
): Promise<string[]> {
  const paths = names.map((name) => join(cache, 'bin', name));
  await mkdir(join(cache, 'bin'), { recursive: true });
  for (const [index, name] of names.entries()) {
    // Each program has its own lock, so that a process that needs the first one does not wait for the last.
    if (existsSync(paths[index] ?? '')) continue;
    await withFileLock(join(cache, 'lock'), () => buildProgram(cache, name, report));
  }
  return paths;
}

async function buildProgram(
  cache: string,
  name: ProgramName,
  report: (sentence: string) => void,
): Promise<void> {
  const path = join(cache, 'bin', name);
  if (existsSync(path)) return;
  const started = Date.now();
  const program: Program = programs[name];
  const directory = await makeGoModule(cache);
  const draft = join(cache, `${name}.${process.pid}`);
  try {
    await go(directory, [...goArgs(program), '-o', draft, program.package]);
    await rename(draft, path);
  } finally {
    await rm(draft, { force: true });
  }
  report(`built ${name} in ${Math.round((Date.now() - started) / 1000)} s`);
}

function goArgs({ test }: Program): string[] {
  const stamps = Object.entries(goModule.stamps).map(([name, value]) => `-X ${name}=${value}`);
  // Do not vet upstream's code, which would take as long as everything else.
  const args = test === true ? ['test', '-c', '-vet=off'] : ['build'];
  return [...args, '-trimpath', '-ldflags', ['-s', '-w', ...stamps].join(' ')];
}

/**
 * Runs Go in a directory and returns its stdout. Its stderr is passed on. Rejects if the exit code is not 0.
 */
export function go(directory: string, args: readonly string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn('go', args, {
      cwd: directory,
      // Overrides those of the caller's Go settings that would change the result.
      env: { ...process.env, CGO_ENABLED: '0', GOFLAGS: '', GOWORK: 'off' },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let output = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
    child.once('error', (error) => reject(new Error(`go could not be started: ${error.message}`)));
    child.once('close', (code, signal) => {
      if (code === 0) resolve(output);
      else reject(new Error(`go ${args.join(' ')} failed: ${signal ?? `exit code ${code}`}`));
    });
  });
}

/**
 * Creates the main module of all programs in the cache, with go.sum, unless it exists. Returns its directory,
 * which appears atomically.
 */
export async function makeGoModule(cache: string): Promise<string> {
  const directory = join(cache, 'module');
  if (existsSync(directory)) return directory;
  await mkdir(cache, { recursive: true });
  const draft = await mkdtemp(`${directory}.`);
  try {
    const staging = stagingModules(await kubernetesGoMod(draft));
    await writeFile(join(draft, 'go.mod'), goMod(goModule.requires, staging));
    await writeFile(
      join(draft, 'tools.go'),
      toolsGo(Object.values(programs).map((program) => program.package)),
    );
    await go(draft, ['mod', 'tidy']);
    await rename(draft, directory);
    return directory;
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
}

async function kubernetesGoMod(directory: string): Promise<string> {
  const answer = await go(directory, ['mod', 'download', '-json', `k8s.io/kubernetes@v${pins.kubernetes}`]);
  return readFile((JSON.parse(answer) as { readonly GoMod: string }).GoMod, 'utf8');
}

/**
 * Returns the modules that Kubernetes' go.mod replaces with directories. `replace` lines of a dependency have
 * no effect.
 */
export function stagingModules(goModOfKubernetes: string): string[] {
  return [...goModOfKubernetes.matchAll(/^\t(k8s\.io\/[a-z0-9-]+) => \.\/staging\//gm)].map(
    ([, path = '']) => path,
  );
}

export function goMod(requires: readonly string[], staging: readonly string[]): string {
  const lines = [
    'module bosh-kubernetes.test/programs',
    `go ${oldestGo}.0`,
    ...requires.map((each) => `require ${each.replace('@', ' ')}`),
    ...staging.map((path) => `replace ${path} => ${path} v${pins.staging}`),
  ];
  return `${lines.join('\n\n')}\n`;
}

/**
 * Returns a file of blank imports, which keep the programs' requirements in go.mod. No build sets its build
 * tag, so it may import main packages.
 */
function toolsGo(packages: readonly string[]): string {
  const imports = packages.map((path) => `import _ "${path}"`);
  return ['//go:build tools', 'package tools', ...imports].join('\n\n').concat('\n');
}
