import { existsSync } from 'node:fs';
import { mkdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { go } from './go.ts';
import { makeGoModule } from './go-module.ts';
import { holdingLock } from './holding-lock.ts';
import { goModule, programs, type Program, type ProgramName } from './programs.ts';

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
    await holdingLock(join(cache, 'lock'), () => buildProgram(cache, name, report));
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
    await go(directory, [...goWords(program), '-o', draft, program.package]);
    await rename(draft, path);
  } finally {
    await rm(draft, { force: true });
  }
  report(`built ${name} in ${Math.round((Date.now() - started) / 1000)} s`);
}

function goWords({ test }: Program): string[] {
  const stamps = Object.entries(goModule.stamps).map(([name, value]) => `-X ${name}=${value}`);
  // Do not vet upstream's code, which would take as long as everything else.
  const words = test === true ? ['test', '-c', '-vet=off'] : ['build'];
  return [...words, '-trimpath', '-ldflags', ['-s', '-w', ...stamps].join(' ')];
}
