import { urlPasswords } from '../errors/redact/secret-strings.ts';
import { isJsonText } from './kubeconfig.ts';

/** In the text of a kubeconfig, which may be none, or have them where no loader looks. */
const secretLines =
  /["']?\b(token|password|client-key-data|client-certificate-data|proxy-url|value)["']?:\s*["']?([^\s"',}]+)/gu;

/**
 * The secret parts of a kubeconfig (object, JSON text or YAML text), whatever its shape: it may not have been parsed, or not be
 * one. Loads a YAML parser for YAML text.
 */
export async function secretsOfKubeconfig(kubeconfig: unknown): Promise<unknown[]> {
  if (typeof kubeconfig !== 'string') return secretsOfObject(kubeconfig);
  const lines = [...kubeconfig.matchAll(secretLines)].map(([, name = '', value]) => ({ [name]: value }));
  return [kubeconfig, ...lines, ...secretsOfObject(await parsedText(kubeconfig))];
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

function secretsOfObject(kubeconfig: unknown): unknown[] {
  const { users, clusters } = objectOf(kubeconfig);
  const proxies = listOf(clusters).map((entry) => objectOf(objectOf(entry)['cluster'])['proxy-url']);
  const passwords = { password: urlPasswords(proxies) };
  return [Array.isArray(users) ? users.flatMap(secretsOfUser) : users, passwords];
}

/** Of an exec plugin what is given to it; what it is called is no secret, and neither is the path of a token's file. */
function secretsOfUser(entry: unknown): unknown[] {
  const { exec, tokenFile, ...user } = objectOf(objectOf(entry)['user']);
  const { args, env } = objectOf(exec);
  const variables = listOf(env).map((variable) => {
    const { name, value } = objectOf(variable);
    return [value, { [typeof name === 'string' ? name : '']: value }];
  });
  // the token itself may stand there by mistake
  const mistaken = typeof tokenFile === 'string' && /^\.{0,2}\//u.test(tokenFile) ? undefined : tokenFile;
  return [user, mistaken, args, listOf(args).map(valueOfFlag), variables];
}

/** Of `--token=secret` a plugin may quote the latter part alone; `--token secret` are two arguments. */
function valueOfFlag(argument: unknown, index: number, all: readonly unknown[]): object {
  const text = typeof argument === 'string' ? argument : '';
  const [, name = '', value] = /^-*([^=]+)=(.*)$/su.exec(text) ?? [];
  return value === undefined && text.startsWith('-') ? { [text]: all[index + 1] } : { [name]: value };
}

const listOf = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);

function objectOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}
