import type { Access } from './access.ts';
import type { AccessOptions } from './kubeconfig-access.ts';
import { resolveAccess } from './kubeconfig-access.ts';
import { isJsonText, parseKubeconfig } from './kubeconfig.ts';

/**
 * Reads an Access from a kubeconfig (object, JSON text or YAML text). Loads a YAML parser only for YAML text.
 */
export async function loadAccess(source: unknown, choice: AccessOptions = {}): Promise<Access> {
  if (typeof source === 'string' && !isJsonText(source)) {
    const { parseKubeconfigYaml } = await import('./kubeconfig-yaml.ts');
    return resolveAccess(parseKubeconfigYaml(source), choice);
  }
  return resolveAccess(parseKubeconfig(source), choice);
}
