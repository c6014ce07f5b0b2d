import { ProductError } from '../../errors/product-error.ts';

/**
 * The parts of a kubeconfig that we read (client-go tools/clientcmd/api/v1 types.go). May contain secrets.
 */
export interface Kubeconfig {
  readonly currentContext?: string;
  readonly clusters: readonly NamedEntry[];
  readonly users: readonly NamedEntry[];
  readonly contexts: readonly NamedEntry[];
}

/** One entry. `key` is its path in the file, for errors. */
export interface NamedEntry {
  readonly key: string;
  readonly name: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

/**
 * Parses a kubeconfig: an object, or JSON text. YAML text goes through `kubeconfig-yaml.ts`.
 * Rejects the wrong shape with INVALID_CONFIG, which names the key and never a value.
 */
export function parseKubeconfig(source: unknown): Kubeconfig {
  return kubeconfigOf(typeof source === 'string' ? parseJson(source) : source);
}

/** Checks a parsed kubeconfig. Throws as `parseKubeconfig` does. */
export function kubeconfigOf(parsed: unknown): Kubeconfig {
  if (typeof parsed === 'string')
    throw new ProductError(
      'INVALID_CONFIG',
      'kubeconfig: it is a text and no mapping, perhaps the name of a file; give the content of the file, as kubectl config view --raw prints it',
    );
  const root = record(parsed, 'kubeconfig');
  const currentContext = optionalString(root, 'current-context', 'current-context');
  return {
    ...(currentContext !== undefined && { currentContext }),
    clusters: entries(root['clusters'], 'clusters', 'cluster'),
    users: entries(root['users'], 'users', 'user'),
    contexts: entries(root['contexts'], 'contexts', 'context'),
  };
}

/** True if the first character shows that the text is JSON, so that no YAML parser has to be loaded. */
export function isJsonText(text: string): boolean {
  return text.trimStart().startsWith('{');
}

/** Returns the INVALID_CONFIG error for a key of a kubeconfig. */
export function invalidKubeconfig(key: string, problem: string): ProductError {
  return new ProductError('INVALID_CONFIG', `kubeconfig: ${key} ${problem}; correct the kubeconfig`);
}

/** Returns the string at `fields[name]`; undefined if it is absent or empty, which client-go treats alike. */
export function optionalString(
  fields: Readonly<Record<string, unknown>>,
  name: string,
  key: string,
): string | undefined {
  const value = fields[name];
  if (value === undefined || value === null || value === '') {
    return undefined;
  }
  if (typeof value !== 'string') {
    throw invalidKubeconfig(key, 'must be a string');
  }
  return value;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // the parser's message quotes the text, which may contain a key
    throw new ProductError(
      'INVALID_CONFIG',
      'kubeconfig: the text is not JSON; give it as kubectl config view --raw -o json prints it',
    );
  }
}

function entries(value: unknown, list: string, field: string): NamedEntry[] {
  if (value === undefined || value === null) {
    return [];
  }
  if (!Array.isArray(value)) {
    throw invalidKubeconfig(list, 'must be a list');
  }
  return value.map((item, index) => {
    const key = `${list}[${index}]`;
    const entry = record(item, key);
    const name = optionalString(entry, 'name', `${key}.name`);
    if (name === undefined) {
      throw invalidKubeconfig(`${key}.name`, 'is missing');
    }
    return { key: `${key}.${field}`, name, fields: record(entry[field] ?? {}, `${key}.${field}`) };
  });
}

function record(value: unknown, key: string): Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw invalidKubeconfig(key, 'must be a mapping');
  }
  return value as Record<string, unknown>;
}
