import { mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { go } from './go.ts';
import { pins } from './pins.ts';
import { goModules, programs, type GoModule, type Program } from './programs.ts';

/** Makes the main module `name` in that directory, with go.sum, unless it is there. It appears whole or not at all. */
export async function makeGoModule(directory: string, name: keyof typeof goModules): Promise<void> {
  if (existsSync(directory)) return;
  await mkdir(dirname(directory), { recursive: true });
  const draft = await mkdtemp(`${directory}.`);
  try {
    const module = goModules[name];
    const staging = module.staging ? stagingModules(await kubernetesGoMod(draft)) : [];
    await writeFile(join(draft, 'go.mod'), goMod(name, module, staging));
    const packages = Object.values<Program>(programs).filter((program) => program.module === name);
    await writeFile(join(draft, 'tools.go'), toolsGo(packages.map((program) => program.package)));
    await go(draft, ['mod', 'tidy']);
    await rename(draft, directory);
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
}

async function kubernetesGoMod(directory: string): Promise<string> {
  const answer = await go(directory, ['mod', 'download', '-json', `k8s.io/kubernetes@v${pins.kubernetes}`]);
  return readFile((JSON.parse(answer) as { readonly GoMod: string }).GoMod, 'utf8');
}

/** Modules that Kubernetes' own go.mod replaces with folders: a dependency's `replace` lines do not count. */
export function stagingModules(goModOfKubernetes: string): string[] {
  return [...goModOfKubernetes.matchAll(/^\t(k8s\.io\/[a-z0-9-]+) => \.\/staging\//gm)].map(
    ([, path = '']) => path,
  );
}

export function goMod(name: string, module: GoModule, staging: readonly string[]): string {
  const lines = [
    `module bosh-kubernetes.test/${name}`,
    'go 1.26.0',
    ...module.requires.map((each) => `require ${each.replace('@', ' ')}`),
    ...staging.map((path) => `replace ${path} => ${path} v${pins.staging}`),
  ];
  return `${lines.join('\n\n')}\n`;
}

/** Blank imports keep what the programs need in go.mod; no build has this tag, so main packages may be named. */
function toolsGo(packages: readonly string[]): string {
  const imports = packages.map((path) => `import _ "${path}"`);
  return ['//go:build tools', 'package tools', ...imports].join('\n\n').concat('\n');
}
