import { urlPasswords } from '../../errors/redact/secret-strings.ts';
import { secretsOfKubeconfig } from '../../kubernetes/access/kubeconfig-secrets.ts';

/**
 * Returns the secret parts of a configuration or of a request's context, which may be unparsed and have any
 * shape. Loads a YAML parser if a kubeconfig is YAML text, so call it only if there is a message to redact.
 */
export async function secretsOfConfig(config: unknown): Promise<unknown[]> {
  const { agent, kubernetes, contexts, env, registry } = asObject(config);
  const inContexts = await Promise.all(
    Object.values(asObject(contexts)).map((context) => secretsOfConfig(context)),
  );
  const { password } = asObject(registry);
  const { kubeconfig, token, client_key: key } = asObject(kubernetes);
  const ofAccess = [{ token, key }, ...(await secretsOfKubeconfig(kubeconfig))];
  return [agent, { password }, ...ofAccess, passwordsOf(env), ...inContexts.flat()];
}

const passwordsOf = (value: unknown): object => ({ password: urlPasswords(value) });

function asObject(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}
