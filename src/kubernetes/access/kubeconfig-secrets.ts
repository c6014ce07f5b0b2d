import { urlPasswords } from '../../errors/redact/secret-strings.ts';
import { isJsonText } from './kubeconfig.ts';

/**
 * Matches secrets in the text of a kubeconfig. The text may not be a valid kubeconfig, or may have secrets at
 * places that no loader reads.
 */
const secretLines =
  /["']?\b(token|password|client-key-data|client-certificate-data|proxy-url|value)["']?:\s*["']?([^\s"',}]+)/gu;

/**
 * Returns the secret parts of a kubeconfig (object, JSON text or YAML text), whatever its shape: it may be
 * unparsed, or not a kubeconfig at all. Loads a YAML parser for YAML text.
 */
export async function secretsOfKubeconfig(kubeconfig: unknown): Promise<unknown[]> {
  if (typeof kubeconfig !== 'string') return secretsOfObject(kubeconfig);
  const lines = [...kubeconfig.matchAll(secretLines)].map(([, name = '', value]) => ({ [name]: value }));
  return [kubeconfig, ...lines, ...secretsOfObject(await parsedText(kubeconfig))];
}

/** Parses the text; undefined if it is neither JSON nor YAML. */
async function parsedText(text: string): Promise<unknown> {
  try {
    if (isJsonText(text)) return JSON.parse(text);
  } catch {
    // it may be flow YAML, which begins like JSON
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

/**
 * Returns the secrets of a user. Of an exec plugin these are its arguments and its environment; its command
 * is not secret, and neither is the path of a token file.
 */
function secretsOfUser(entry: unknown): unknown[] {
  const { exec, tokenFile, ...user } = objectOf(objectOf(entry)['user']);
  const { args, env } = objectOf(exec);
  const variables = listOf(env).map((variable) => {
    const { name, value } = objectOf(variable);
    return [value, { [typeof name === 'string' ? name : '']: value }];
  });
  // a user may have put the token itself there by mistake
  const mistaken = typeof tokenFile === 'string' && /^\.{0,2}\//u.test(tokenFile) ? undefined : tokenFile;
  return [{ user }, mistaken, args, listOf(args).map(valueOfFlag), variables];
}

/**
 * A plugin may quote only the value of `--token=secret`, so the value is a secret by itself. `--token secret`
 * is two arguments.
 */
function valueOfFlag(argument: unknown, index: number, all: readonly unknown[]): object {
  const text = typeof argument === 'string' ? argument : '';
  const [, name = '', value] = /^-*([^=]+)=(.*)$/su.exec(text) ?? [];
  return value === undefined && text.startsWith('-') ? { [text]: all[index + 1] } : { [name]: value };
}

const listOf = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);

function objectOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}
