import { describeKind, lookUp, scalar } from '../yaml/yaml-node.ts';
import type { ListNode, MapNode, Position, ScalarNode, ValueSource, YamlNode } from '../yaml/yaml-node.ts';
import { rootField } from '../yaml/yaml-field.ts';
import type { ConfigErrors } from '../yaml/yaml-field.ts';
import { OperationError, find } from './apply-operation.ts';
import { parsePath } from './patch-path.ts';
import type { VariableDefinition, VariableSource } from '../variables/variable.ts';

const reference = /\(\( ?!?([-/.\w\p{L}]+) ?\)\)/gu;
const onlyReference = /^\(\( ?!?([-/.\w\p{L}]+) ?\)\)$/u;

/**
 * Returns the manifest with every `((variable))` replaced (bosh-cli: director/template/template.go). If a
 * value is only a variable, it gets the variable's type. Inside a text only strings and whole numbers are
 * allowed. `((a.b))` is a part of variable `a`. Variables that are defined with a type are generated first,
 * in their order. The definitions of resolved variables are removed from `variables`. An error is added to
 * `problems`, and its value stays unchanged. An unresolved variable is an error unless `missing` is 'keep'.
 */
export async function interpolate(
  root: YamlNode,
  source: VariableSource,
  problems: ConfigErrors,
  missing: Missing = 'refuse',
): Promise<YamlNode> {
  const run = new Interpolation({ definitions: readDefinitions(root, problems), source, problems, missing });
  await run.prepare();
  const interpolated = await run.interpolate(root);
  await run.lookUpDefined();
  return run.withoutResolvedDefinitions(interpolated);
}

export type Missing = 'refuse' | 'keep';

interface DefinitionAtPosition extends VariableDefinition {
  readonly position: Position;
}

function readDefinitions(root: YamlNode, problems: ConfigErrors): readonly DefinitionAtPosition[] {
  if (root.kind !== 'map') return [];
  const variables = rootField(root, problems).get('variables');
  return variables.items().map((field) => {
    const type = field.get('type').text();
    const options = field.get('options').node;
    return {
      name: field.get('name').requiredText(),
      ...(type === undefined || type === '' ? {} : { type }),
      ...(options === undefined ? {} : { options }),
      position: field.nodePosition,
    };
  });
}

interface InterpolationJob {
  readonly definitions: readonly DefinitionAtPosition[];
  readonly source: VariableSource;
  readonly problems: ConfigErrors;
  readonly missing: Missing;
}

class Interpolation {
  readonly #definitions: readonly DefinitionAtPosition[];
  readonly #source: VariableSource;
  readonly #problems: ConfigErrors;
  readonly #missing: Missing;
  /** The number of references that could not be resolved. */
  #unresolvedCount = 0;
  readonly #values = new Map<string, YamlNode | undefined>();
  /** Variables that have a type, and no value since there is no vars store. */
  readonly #withoutStore = new Set<string>();
  readonly #inProgress: string[] = [];

  constructor({ definitions, source, problems, missing }: InterpolationJob) {
    this.#definitions = definitions;
    this.#source = source;
    this.#problems = problems;
    this.#missing = missing;
  }

  async prepare(): Promise<void> {
    const typed = this.#definitions.filter(({ type }) => type !== undefined);
    await this.#source.expect(typed);
    for (const { name, position } of typed) await this.#value(name, position);
  }

  /** Resolves the definitions without a type to which nothing refers. */
  async lookUpDefined(): Promise<void> {
    for (const { name, position } of this.#definitions) await this.#value(name, position);
  }

  async interpolate(node: YamlNode): Promise<YamlNode> {
    switch (node.kind) {
      case 'scalar':
        return typeof node.value === 'string' ? this.#text(node, node.value) : node;
      case 'list': {
        const items: YamlNode[] = [];
        for (const item of node.items) items.push(await this.interpolate(item));
        return { ...node, items };
      }
      case 'map':
        return this.#map(node);
    }
  }

  /** Removes the definitions of resolved variables from the manifest. */
  withoutResolvedDefinitions(root: YamlNode): YamlNode {
    if (root.kind !== 'map') return root;
    const list = lookUp(root, 'variables');
    if (list?.kind !== 'list') return root;
    const items = list.items.filter((item) => {
      const name = lookUp(item, 'name');
      return !(
        name?.kind === 'scalar' &&
        typeof name.value === 'string' &&
        this.#values.get(name.value) !== undefined
      );
    });
    const value: ListNode = { ...list, items };
    return {
      ...root,
      entries: root.entries.map((one) => (one.key.value === 'variables' ? { ...one, value } : one)),
    };
  }

  async #map(node: MapNode): Promise<YamlNode> {
    const entries = [];
    for (const { key, value } of node.entries) {
      const interpolated = await this.interpolate(key);
      if (interpolated.kind !== 'scalar') {
        this.#problems.add(key.position, '', `a key cannot be ${describeKind(interpolated)}`);
      }
      entries.push({
        key: interpolated.kind === 'scalar' ? interpolated : key,
        value: await this.interpolate(value),
      });
    }
    return { ...node, entries };
  }

  async #text(node: ScalarNode, text: string): Promise<YamlNode> {
    const whole = onlyReference.exec(text)?.[1];
    if (whole !== undefined) return (await this.#lookUp(whole, node.position)) ?? node;
    let result = '';
    let end = 0;
    for (const match of text.matchAll(reference)) {
      const value = await this.#lookUp(match[1] ?? '', node.position);
      result += text.slice(end, match.index) + this.#asText(value, match[1] ?? '', node.position, match[0]);
      end = match.index + match[0].length;
    }
    return end === 0 ? node : scalar(result + text.slice(end), node.position);
  }

  #asText(node: YamlNode | undefined, name: string, position: Position, otherwise: string): string {
    if (node === undefined) return otherwise;
    if (node.kind === 'scalar' && typeof node.value === 'string') return node.value;
    if (node.kind === 'scalar' && (Number.isInteger(node.value) || typeof node.value === 'bigint'))
      return String(node.value);
    const message = `variable '${name}' is ${node.kind === 'scalar' ? 'not text' : describeKind(node)}; only text and whole numbers can be inserted into text`;
    this.#problems.add(position, '', message);
    return otherwise;
  }

  async #lookUp(name: string, position: Position): Promise<YamlNode | undefined> {
    const [variable = '', ...parts] = name.split('.');
    const value = await this.#value(variable, position);
    if (value === undefined) {
      this.#unresolvedCount += 1;
      if (this.#missing === 'keep') return undefined;
      const step = this.#withoutStore.has(variable) ? '; --vars-store FILE generates it' : '';
      this.#problems.add(position, '', `variable '${variable}' is neither given nor generated${step}`);
      return undefined;
    }
    const used = { position, source: { variable, file: value.position.file } };
    if (parts.length === 0) return usedAt(value, used);
    try {
      const found = getPath(value, parts);
      if (found !== undefined) return usedAt(found, used);
      this.#problems.add(position, '', `variable '${variable}' has no '${parts.join('.')}'`);
    } catch (error) {
      if (!(error instanceof OperationError)) throw error;
      this.#problems.add(position, '', `variable '${variable}': ${error.message}`);
    }
    return undefined;
  }

  async #value(name: string, position: Position): Promise<YamlNode | undefined> {
    if (this.#values.has(name)) return this.#values.get(name);
    if (this.#inProgress.includes(name)) {
      const chain = [...this.#inProgress, name].join(' -> ');
      this.#problems.add(position, '', `variable '${name}' depends on itself: ${chain}`);
      return undefined;
    }
    this.#inProgress.push(name);
    const value = await this.#fetch(name);
    this.#inProgress.pop();
    this.#values.set(name, value);
    return value;
  }

  async #fetch(name: string): Promise<YamlNode | undefined> {
    const definition = this.#definitions.find((one) => one.name === name);
    if (definition === undefined) return this.#source.get({ name });
    const { options, position: _, ...rest } = definition;
    const before = this.#problems.count + this.#unresolvedCount;
    const interpolated = options === undefined ? undefined : await this.interpolate(options);
    if (this.#problems.count + this.#unresolvedCount > before) return undefined;
    const value = await this.#source.get({
      ...rest,
      ...(interpolated === undefined ? {} : { options: interpolated }),
    });
    if (value === undefined && definition.type !== undefined) this.#withoutStore.add(name);
    return value;
  }
}

/**
 * Returns a part of a value. A number is tried as a list index first and as a map key second, as upstream
 * does.
 */
function getPath(value: YamlNode, parts: readonly string[]): YamlNode | undefined {
  const path = `/${parts.join('/')}`;
  const tokens = parsePath(path);
  try {
    return find(value, path, tokens);
  } catch (error) {
    if (!(error instanceof OperationError) || !tokens.some(({ kind }) => kind === 'index')) throw error;
    return find(
      value,
      path,
      parts.map((key) => ({ kind: 'key', key, optional: false })),
    );
  }
}

interface Use {
  readonly position: Position;
  readonly source: ValueSource;
}

/**
 * Sets the position of a variable's value to the place that uses it, because errors in the value are reported
 * there, and its source to the variable.
 */
function usedAt(node: YamlNode, use: Use): YamlNode {
  const { position } = use;
  switch (node.kind) {
    case 'scalar':
      return { ...node, ...use };
    case 'list':
      return { ...node, items: node.items.map((item) => usedAt(item, use)), position };
    case 'map': {
      const entries = node.entries.map(({ key, value }) => ({
        key: { ...key, position },
        value: usedAt(value, use),
      }));
      return { ...node, entries, position };
    }
  }
}
