import { isProductError } from '../../src/errors/product-error.ts';
import { parseYaml } from '../../src/bosh/yaml/parse-yaml.ts';
import { toValue } from '../../src/bosh/yaml/yaml-node.ts';

/** A property in a job's spec. */
export interface PropertyDefinition {
  readonly default?: unknown;
  readonly example?: unknown;
  readonly description?: string | undefined;
}

export type Definitions = Readonly<Record<string, PropertyDefinition>>;

/** Values by the last part of a dotted name; the first match counts. */
const byName: readonly (readonly [RegExp, unknown])[] = [
  [/(^|_)ports?$/u, 8080],
  [/(ips|hosts|addresses|machines|servers|nodes|urls|endpoints|zones|domains|names)$/u, ['10.0.0.1']],
  [/(users|roles|databases|routes|certs|certificates|keys|list|groups|scopes)$/u, []],
  [
    /(private_?key|_key|^key)$/u,
    '-----BEGIN RSA PRIVATE KEY-----\nplausible\n-----END RSA PRIVATE KEY-----\n',
  ],
  [
    /(cert|certificate|^ca|_ca|public_key)$/u,
    '-----BEGIN CERTIFICATE-----\nplausible\n-----END CERTIFICATE-----\n',
  ],
  [/(url|uri|endpoint)$/u, 'https://plausible.example.com'],
  [/(^ip|_ip|address|host|machine)$/u, '10.0.0.1'],
  [/(enabled?|disabled?|^use_|^require_|^skip_|^allow_)/u, true],
  [/(timeout|interval|seconds|minutes|count|size|limit|max|min|workers|retries|mb)/u, 5],
  [/(user|username|login)$/u, 'admin'],
  [/(password|secret|token)$/u, 'p1ausible-secret'],
];

/**
 * Returns values for every property of a job: its default, else the example of its spec, else a value that
 * its name suggests. They are nested as in a manifest.
 */
export function plausibleProperties(definitions: Definitions): Readonly<Record<string, unknown>> {
  const properties: Record<string, unknown> = {};
  for (const [name, definition] of Object.entries(definitions)) {
    const value = definition.default ?? exampleOf(definition) ?? suggested(name);
    setAt(properties, name.split('.'), value);
  }
  return properties;
}

function suggested(name: string): unknown {
  const last = name.split('.').at(-1) ?? '';
  return byName.find(([pattern]) => pattern.test(last))?.[1] ?? `plausible-${last}`;
}

/** Returns the example; for a list or map the example is often YAML in a text. */
function exampleOf({ example }: PropertyDefinition): unknown {
  if (typeof example !== 'string' || !example.includes('\n')) return example;
  try {
    const value = toValue(parseYaml(example, 'example', 'RELEASE_INVALID'));
    return typeof value === 'object' ? value : example;
  } catch (error) {
    if (!isProductError(error, 'RELEASE_INVALID')) throw error;
    return example;
  }
}

/**
 * Sets a nested value. A value at a key that is also the parent of other properties is dropped: templates use
 * the nested ones.
 */
function setAt(target: Record<string, unknown>, keys: readonly string[], value: unknown): void {
  const [key = '', ...rest] = keys;
  const there = target[key];
  const isMap = typeof there === 'object' && there !== null && !Array.isArray(there);
  if (rest.length === 0) {
    if (!isMap) target[key] = value;
    return;
  }
  const inner = isMap ? { ...there } : {};
  target[key] = inner;
  setAt(inner, rest, value);
}
