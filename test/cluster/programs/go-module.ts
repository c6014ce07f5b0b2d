import { mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { go } from './go.ts';
import { oldestGo, pins } from './pins.ts';
import { goModule, programs } from './programs.ts';

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
