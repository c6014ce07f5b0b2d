import { ProductError } from '../../errors/product-error.ts';
import { Field } from '../../platform/field.ts';

/**
 * The parts of a kubeconfig that we read (client-go tools/clientcmd/api/v1 types.go). May contain secrets.
 */
export interface Kubeconfig {
  readonly currentContext: Field;
  readonly clusters: readonly NamedEntry[];
  readonly users: readonly NamedEntry[];
  readonly contexts: readonly NamedEntry[];
}

export interface NamedEntry {
  readonly name: string;
  /** The cluster, user or context. */
  readonly fields: Field;
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
  const root = new Field(parsed, '', invalidKubeconfig);
  if (!root.isPresent) throw root.error('is empty');
  return {
    currentContext: root.get('current-context'),
    clusters: entries(root.get('clusters'), 'cluster'),
    users: entries(root.get('users'), 'user'),
    contexts: entries(root.get('contexts'), 'context'),
  };
}

/** True if the first character shows that the text is JSON, so that no YAML parser has to be loaded. */
export function isJsonText(text: string): boolean {
  return text.trimStart().startsWith('{');
}

function invalidKubeconfig(path: string, problem: string): ProductError {
  const location = path === '' ? 'it' : path;
  return new ProductError('INVALID_CONFIG', `kubeconfig: ${location} ${problem}; correct the kubeconfig`);
}

/** Returns a string; undefined if it is absent or empty, which client-go treats alike. */
export function optionalString(field: Field): string | undefined {
  return field.optional()?.string() || undefined;
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

function entries(list: Field, key: string): NamedEntry[] {
  return list.list().map((entry) => {
    const name = optionalString(entry.get('name'));
    if (name === undefined) throw entry.get('name').error('is missing');
    return { name, fields: entry.get(key) };
  });
}
