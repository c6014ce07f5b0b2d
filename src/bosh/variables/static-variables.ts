import { readFile } from 'node:fs/promises';
import { ProductError } from '../../errors/product-error.ts';
import { fileNotFound } from '../archive/open-for-reading.ts';
import { readGivenYaml } from '../yaml/parse-yaml.ts';
import { describeKind, describePlace, fromValue, scalar } from '../yaml/yaml-node.ts';
import type { YamlNode } from '../yaml/yaml-node.ts';

export interface GivenVariables {
  readonly variables?: Readonly<Record<string, unknown>> | undefined;
  readonly variableFiles?: Readonly<Record<string, string>> | undefined;
  readonly varsFiles?: readonly string[] | undefined;
}

/** What the operator gives: `-l` files in order, then `--var-file`, then `-v`; the later wins (bosh-cli: cmd/opts/var_flags.go). */
export async function loadStaticVariables(given: GivenVariables): Promise<ReadonlyMap<string, YamlNode>> {
  const values = new Map<string, YamlNode>();
  for (const path of given.varsFiles ?? []) {
    for (const [name, node] of await readVarsFile(path)) values.set(name, node);
  }
  for (const [name, path] of Object.entries(given.variableFiles ?? {})) {
    values.set(name, scalar(await readText(path), { file: path, line: 1, column: 1 }));
  }
  for (const [name, value] of Object.entries(given.variables ?? {})) {
    values.set(name, fromValue(value, { file: `variable '${name}'`, line: 1, column: 1 }));
  }
  return values;
}

async function readVarsFile(path: string): Promise<readonly (readonly [string, YamlNode])[]> {
  const node = await readGivenYaml(path);
  if (node.kind === 'scalar' && node.value === null) return [];
  if (node.kind !== 'map') {
    throw new ProductError(
      'MANIFEST_INVALID',
      `${describePlace(node.place)}: expected a map of variables, found ${describeKind(node)}`,
    );
  }
  return node.entries.map(({ key, value }) => [key.text, value] as const);
}

async function readText(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    throw fileNotFound(path, error) ?? error;
  }
}
