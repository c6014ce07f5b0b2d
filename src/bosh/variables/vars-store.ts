import { mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { ProductError } from '../../errors/product-error.ts';
import { readOwnFile } from '../../platform/read-file.ts';
import { replaceFile } from '../../platform/durable-file.ts';
import { toGoYaml } from '../yaml/go-yaml.ts';
import { parseYaml } from '../yaml/parse-yaml.ts';
import {
  describeKind,
  fromValue,
  keyText,
  lookUp,
  scalar,
  type MapNode,
  type YamlNode,
} from '../yaml/yaml-node.ts';
import { resolveLinks } from '../../platform/resolve-links.ts';
import type { VariableDefinition, VariableSource } from './variable.ts';

/**
 * Generates a value for a definition with a type. `find` looks up the values of other variables, for example
 * a CA.
 */
export type GenerateValue = (
  definition: VariableDefinition & { readonly type: string },
  find: (name: string) => Promise<YamlNode | undefined>,
) => Promise<unknown>;

export interface VarsStoreOptions {
  readonly path: string;
  /** True if generated values are not written to the file. The default is false. */
  readonly isReadOnly?: boolean;
  readonly generate: GenerateValue;
  /** Called with the definitions that will be generated, as far as they are known in advance. */
  readonly prepare?: (definitions: readonly VariableDefinition[]) => void;
  /** The operator's values. `find` prefers them to the values of the store. */
  readonly operatorValues: ReadonlyMap<string, YamlNode>;
}

/**
 * The file of `--vars-store`, which the bosh CLI also reads and writes (bosh-cli: cmd/opts/vars_fs_store.go).
 * An existing value never changes. A missing value with a type is generated and written, atomically and with
 * mode 0600, before it is used. If other users have permissions on the file, these are removed when it is
 * read. Throws FILE_NOT_TRUSTED if it belongs to another user, and VARS_STORE_INVALID if it cannot be used.
 */
export class VarsStore implements VariableSource {
  readonly #options: VarsStoreOptions;
  #values: MapNode | undefined;

  constructor(options: VarsStoreOptions) {
    this.#options = options;
  }

  async expect(definitions: readonly VariableDefinition[]): Promise<void> {
    const values = (this.#values ??= await this.#load());
    const { prepare, operatorValues } = this.#options;
    prepare?.(
      definitions.filter(({ name }) => !operatorValues.has(name) && lookUp(values, name) === undefined),
    );
  }

  async get(definition: VariableDefinition): Promise<YamlNode | undefined> {
    const values = (this.#values ??= await this.#load());
    const known = lookUp(values, definition.name);
    if (known !== undefined || definition.type === undefined) return known;
    const { type } = definition;
    const generated = await this.#options.generate({ ...definition, type }, (name) => this.#find(name));
    return this.#add(values, definition.name, generated);
  }

  async names(): Promise<readonly string[]> {
    this.#values ??= await this.#load();
    return this.#values.entries.map(({ key }) => keyText(key));
  }

  async #find(name: string): Promise<YamlNode | undefined> {
    return this.#options.operatorValues.get(name) ?? this.get({ name });
  }

  async #load(): Promise<MapNode> {
    const { path } = this.#options;
    const position = { file: path, line: 1, column: 1 };
    const node = parseYaml(await readOptional(path), path, 'VARS_STORE_INVALID');
    if (node.kind === 'map') return node;
    if (node.kind === 'scalar' && node.value === null) return { kind: 'map', entries: [], position };
    throw new ProductError(
      'VARS_STORE_INVALID',
      `${path}:1:1: a vars store is a map, found ${describeKind(node)}`,
    );
  }

  async #add(values: MapNode, name: string, value: unknown): Promise<YamlNode> {
    const { position } = values;
    const node = fromValue(value, position);
    const others = values.entries.filter(({ key }) => keyText(key) !== name);
    const changed: MapNode = {
      ...values,
      entries: [...others, { key: scalar(name, position), value: node }],
    };
    const { path, isReadOnly = false } = this.#options;
    if (!isReadOnly) await writeSecretFile(await resolveLinks(path), toGoYaml(changed));
    this.#values = changed;
    return node;
  }
}

async function readOptional(path: string): Promise<string> {
  try {
    return (await readOwnFile(await resolveLinks(path), { tightenMode: true })) ?? '';
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    if (code === 'ENOENT') return '';
    if (code !== 'EACCES' && code !== 'EISDIR' && code !== 'ENOTDIR' && code !== 'ELOOP') throw error;
    throw new ProductError('VARS_STORE_INVALID', `Cannot read the vars store '${path}': ${code}`, {
      cause: error,
    });
  }
}

async function writeSecretFile(path: string, text: string): Promise<void> {
  try {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    replaceFile(path, text);
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    if (code !== 'EACCES' && code !== 'EROFS' && code !== 'ENOSPC' && code !== 'ENOTDIR') throw error;
    throw new ProductError('VARS_STORE_INVALID', `Cannot write the vars store '${path}': ${code}`, {
      cause: error,
    });
  }
}
