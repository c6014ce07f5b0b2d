import { ProductError } from '../../errors/product-error.ts';
import type { KubernetesObject } from '../../kubernetes/object.ts';
import type { Pod } from '../../kubernetes/pod.ts';
import type { CallContext } from '../cloud.ts';
import { annotation, label } from '../labels.ts';
import { requestedAddresses } from './asked-addresses.ts';

/**
 * Returns the error of a create_vm for an address that an active VM has, with the command that deletes that
 * VM. The deployment of a director's VM is known from `env.bosh.groups`, with which its Secret was created.
 */
export function holderError(
  { namespace }: Pick<CallContext, 'namespace'>,
  vmCid: string,
  holder: Pod,
  secret: KubernetesObject | undefined,
): ProductError {
  const { name = '', annotations = {} } = holder.metadata;
  const deployment = secret?.metadata.labels?.[label.deployment];
  const next =
    deployment === undefined
      ? `with delete-env of its manifest; if a killed create-env left it, run that again, or: kubectl delete secret ${name} ` +
        `-n ${namespace} (docs/operating.md, "Recovery")`
      : `if that deployment does not need it: bosh -d ${describedDeployment(annotations) ?? deployment} delete-vm ${name}`;
  return new ProductError(
    'VM_CREATION_FAILED',
    `VM '${vmCid}' could not be created in namespace ${namespace}: VM '${name}' has the address ${requestedAddresses(holder) ?? ''}; ` +
      `choose another one, or delete that VM first, ${next}`,
  );
}

/**
 * Returns the unchanged name of the deployment; a label contains its canonical form only. A user who may edit
 * pods may set any annotation, so the name is checked.
 */
function describedDeployment(annotations: Readonly<Record<string, string>>): string | undefined {
  const metadata = jsonOf(annotations[annotation.metadata]);
  const name =
    typeof metadata === 'object' && metadata !== null && 'deployment' in metadata
      ? metadata.deployment
      : undefined;
  return typeof name === 'string' && /^[\w.-]+$/u.test(name) ? name : undefined;
}

function jsonOf(text: string | undefined): unknown {
  try {
    return text === undefined ? undefined : JSON.parse(text);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    return undefined;
  }
}
