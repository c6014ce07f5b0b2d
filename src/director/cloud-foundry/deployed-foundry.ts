import { join } from 'node:path';
import { parseYaml } from '../../bosh/yaml/parse-yaml.ts';
import { toValue } from '../../bosh/yaml/yaml-node.ts';
import { label } from '../../cpi/objects/labels.ts';
import type { Pod } from '../../kubernetes/types/pod.ts';
import { Field } from '../../platform/field.ts';
import { readOwnFile } from '../../platform/read-file.ts';
import { resolveLinks } from '../../platform/resolve-links.ts';
import { varsStore } from './foundry-commands.ts';

/** A Cloud Foundry whose first deployment has begun. */
export interface DeployedFoundry {
  /**
   * Its vars store, with passwords and keys. Undefined: the folder has none, because the director has
   * CredHub, or because the deployment was made from another folder.
   */
  readonly variables: Field | undefined;
}

/** The name of the deployment, which system-domain.yml and the page also have. */
const deployment = 'cf';

/**
 * Returns the Cloud Foundry of a director's folder and namespace. Undefined: there is neither a vars store
 * nor a VM in `pods`, or no vars store, and `pods` is undefined because the user may not list them. Rejects
 * with FILE_NOT_TRUSTED or VARS_STORE_INVALID.
 */
export async function findDeployedFoundry(
  directory: string,
  namespace: string,
  pods: readonly Pod[] | undefined,
): Promise<DeployedFoundry | undefined> {
  const path = join(directory, varsStore);
  const text = await readOwnFile(await resolveLinks(path));
  if (text === undefined)
    return pods?.some(isFoundryVm(namespace)) === true ? { variables: undefined } : undefined;
  const error = 'VARS_STORE_INVALID';
  return { variables: new Field(toValue(parseYaml(text, path, error)), path, error) };
}

/** Returns a function that is true for the pods of Cloud Foundry's VMs. */
export const isFoundryVm =
  (namespace: string) =>
  ({ metadata }: Pod): boolean =>
    metadata.namespace === namespace && metadata.labels?.[label.deployment] === deployment;
