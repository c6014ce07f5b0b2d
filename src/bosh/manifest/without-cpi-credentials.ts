import { isProductError } from '../../errors/product-error.ts';
import { parseYaml } from '../yaml/parse-yaml.ts';
import { lookUp, type YamlNode } from '../yaml/yaml-node.ts';

/**
 * Returns a manifest without our CPI's credentials in cloud_provider.properties. The VM does not know them,
 * so new credentials need no new VM. The properties that say where the CPI works stay: server, authority,
 * namespace and context. All properties of another CPI stay.
 */
export function withoutCpiCredentials(manifest: YamlNode): YamlNode {
  return updateIn(manifest, 'cloud_provider', (provider) =>
    updateIn(provider, 'properties', (properties) => {
      if (lookUp(properties, 'kubernetes')?.kind !== 'map') return properties;
      const section = updateIn(properties, 'kubernetes', stripKubeconfigCredentials);
      const registry = updateIn(section, 'registry', (node) => omit(node, ['username', 'password']));
      return updateIn(registry, 'contexts', (contexts) =>
        eachValue(contexts, (context) => updateIn(context, 'kubernetes', stripKubeconfigCredentials)),
      );
    }),
  );
}

function stripKubeconfigCredentials(section: YamlNode): YamlNode {
  const rest = omit(section, ['token', 'client_certificate', 'client_key']);
  return updateIn(rest, 'kubeconfig', (kubeconfig) => omit(mapInText(kubeconfig), ['users']));
}

/**
 * Returns the map of a kubeconfig, which may be a map or a YAML text. A text that is not YAML stays
 * unchanged; the CPI will reject it.
 */
function mapInText(node: YamlNode): YamlNode {
  if (node.kind !== 'scalar' || typeof node.value !== 'string') return node;
  try {
    return parseYaml(node.value, node.position.file, 'MANIFEST_INVALID');
  } catch (error) {
    if (isProductError(error)) return node;
    throw error;
  }
}

function omit(node: YamlNode, keys: readonly unknown[]): YamlNode {
  if (node.kind !== 'map') return node;
  return { ...node, entries: node.entries.filter(({ key }) => !keys.includes(key.value)) };
}

function updateIn(node: YamlNode, name: string, change: (value: YamlNode) => YamlNode): YamlNode {
  return eachValue(node, (value, key) => (key === name ? change(value) : value));
}

function eachValue(node: YamlNode, change: (value: YamlNode, key: unknown) => YamlNode): YamlNode {
  if (node.kind !== 'map') return node;
  const entries = node.entries.map(({ key, value }) => ({ key, value: change(value, key.value) }));
  return { ...node, entries };
}
