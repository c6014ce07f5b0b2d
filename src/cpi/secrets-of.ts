import { urlPasswords } from '../errors/redact/secret-strings.ts';
import { isJsonText } from '../kubernetes/kubeconfig.ts';

/** In the text of a kubeconfig, which may be none, or have them where no loader looks. */
const secretLines =
  /["']?\b(token|password|client-key-data|client-certificate-data|proxy-url|value)["']?:\s*["']?([^\s"',}]+)/gu;

/**
 * The secret parts of a configuration or of a request's context, whatever their shape: it may not have been parsed.
 * Loads a YAML parser where a kubeconfig is such text, so call it only when there is a message to clear.
 */
export async function secretsOf(config: unknown): Promise<unknown[]> {
  const { agent, kubernetes, contexts, env, registry, director } = objectOf(config);
  const inContexts = await Promise.all(
    Object.values(objectOf(contexts)).map((context) => secretsOf(context)),
  );
  const { password } = objectOf(registry);
  const { client_secret: secret } = objectOf(director);
  const ofAccess = await secretsOfAccess(objectOf(kubernetes));
  return [agent, { password }, { secret }, ...ofAccess, passwordsOf(env), ...inContexts.flat()];
}

async function secretsOfAccess({
  kubeconfig,
  token,
  client_key: key,
}: Record<string, unknown>): Promise<unknown[]> {
  if (typeof kubeconfig !== 'string') return [{ token, key }, ...secretsOfKubeconfig(kubeconfig)];
  const lines = [...kubeconfig.matchAll(secretLines)].map(([, name = '', value]) => ({ [name]: value }));
  return [{ token, key }, kubeconfig, ...lines, ...secretsOfKubeconfig(await parsedText(kubeconfig))];
}

/** Undefined where it is neither JSON nor YAML. */
async function parsedText(text: string): Promise<unknown> {
  try {
    if (isJsonText(text)) return JSON.parse(text);
  } catch {
    // it may be flow YAML, which begins the same way
  }
  const { load } = await import('js-yaml');
  try {
    return load(text);
  } catch {
    return undefined;
  }
}

function secretsOfKubeconfig(kubeconfig: unknown): unknown[] {
  const { users, clusters } = objectOf(kubeconfig);
  const proxies = listOf(clusters).map((entry) => objectOf(objectOf(entry)['cluster'])['proxy-url']);
  return [Array.isArray(users) ? users.flatMap(secretsOfUser) : users, passwordsOf(proxies)];
}

/** Of an exec plugin what is given to it; what it is called is no secret. */
function secretsOfUser(entry: unknown): unknown[] {
  const { exec, ...user } = objectOf(objectOf(entry)['user']);
  const { args, env } = objectOf(exec);
  const variables = listOf(env).map((variable) => {
    const { name, value } = objectOf(variable);
    return [value, { [typeof name === 'string' ? name : '']: value }];
  });
  return [user, args, listOf(args).map(valueOfFlag), variables];
}

/** Of `--token=secret` a plugin may quote the latter part alone; `--token secret` are two arguments. */
function valueOfFlag(argument: unknown, index: number, all: readonly unknown[]): object {
  const text = typeof argument === 'string' ? argument : '';
  const [, name = '', value] = /^-*([^=]+)=(.*)$/su.exec(text) ?? [];
  return value === undefined && text.startsWith('-') ? { [text]: all[index + 1] } : { [name]: value };
}

const passwordsOf = (value: unknown): object => ({ password: urlPasswords(value) });

const listOf = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);

function objectOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}
