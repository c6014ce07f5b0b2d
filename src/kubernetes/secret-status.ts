import type { ApiRequest } from './api-error.ts';
import type { Status } from './object.ts';

/** True for a request on Secrets, whose response may quote them. */
export function isAboutSecrets({ path }: ApiRequest): boolean {
  return /^\/api\/v1\/(?:namespaces\/[^/]+\/)?secrets(?:[/?]|$)/u.test(path);
}

const name = '[a-z0-9][a-z0-9.-]{0,252}';
/**
 * The parts of Kubernetes' own messages that show an operator or our code the cause. Each contains only
 * names.
 */
const safeMessages: readonly string[] = [
  `(?:User "[\\w.:@/-]{1,253}" )?cannot \\w{1,30} resource "secrets" in API group ""(?: in the namespace "${name}"| at the cluster scope)?`,
  `exceeded quota: ${name}`,
  `admission webhook "${name}" denied`,
  `ValidatingAdmissionPolicy '${name}' with binding '${name}' denied`,
  `(?:secrets|namespaces) "${name}" (?:not found|already exists)`,
  'because it is being terminated',
  'the object has been modified',
  'Too long: (?:must have at most|may not be more than) \\d{1,10} bytes',
];

/**
 * Returns the failure of a request on Secrets without the server's free text; code, reason, names and fields
 * stay. A webhook, a proxy or the server may quote the Secret, also if this process does not know that it is
 * secret.
 */
export function redactSecretStatus({ code, reason, message = '', details }: Status): Status {
  const told = safeMessages.flatMap((pattern) => new RegExp(pattern, 'u').exec(message)?.[0] ?? []);
  const causes = (details?.causes ?? []).flatMap(({ reason: cause, field }) =>
    field !== undefined && /^[\w.[\]"/-]{1,253}$/u.test(field)
      ? [{ field, ...(isReason(cause) && { reason: cause }) }]
      : [],
  );
  return {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    code,
    ...(isReason(reason) && { reason }),
    message: told.length > 0 ? told.join(', ') : 'its words are left out, since they may quote the Secret',
    ...(details !== undefined && {
      details: { ...named('name', details.name), ...named('kind', details.kind), causes },
    }),
  };
}

const isReason = (reason: string | undefined): reason is string =>
  reason !== undefined && /^[A-Za-z]{1,60}$/u.test(reason);

function named(key: 'name' | 'kind', value: string | undefined): { name?: string; kind?: string } {
  return value !== undefined && new RegExp(`^${name}$`, 'u').test(value) ? { [key]: value } : {};
}
