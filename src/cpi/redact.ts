import { isJsonText } from '../kubernetes/kubeconfig.ts';

/** A shorter text is a secret only by its key: `on` or `bosh` stand in messages for other things. */
const longEnough = 6;
/** Cut out of a message, one character would show itself by where it is missing. */
const shortest = 2;
/** Answers to a question such as `keep_root_password`, never secrets: cut out, they would be guessed and leave nonsense. */
const switches = /^(?:true|false|yes|no|on|off|null|none)$/iu;
const secretKeys =
  /(?:pass|password|passwd|passphrase|secret|token|credential|(?:api|access|account|client|private|secret|shared)[_-]?key|(?:^|[_-])key)s?$/iu;
/** Parts of create_vm's env that name things and are no secrets. */
const plainKeys = new Set(['group', 'groups', 'tags']);
/** In the text of a kubeconfig, which may be none, or have them where no loader looks. */
const secretLines =
  /["']?\b(token|password|client-key-data|client-certificate-data|proxy-url|value)["']?:\s*["']?([^\s"',}]+)/gu;

/**
 * A function that replaces every string found in `sources` (and the password of each URL among them).
 * A short one is replaced where it is a word. The last line of defence for error messages, which may carry text of an API server.
 */
export function redactor(...sources: unknown[]): (text: string) => string {
  let secrets: string[] | undefined;
  return (text) => {
    secrets ??= [...new Set(sources.flatMap((source) => stringsIn(source)))].toSorted(
      (a, b) => b.length - a.length,
    );
    return secrets.reduce((redacted, secret) => redacted.replaceAll(occurrence(secret), '<redacted>'), text);
  };
}

function occurrence(secret: string): string | RegExp {
  if (secret.length >= longEnough) return secret;
  const literal = secret.replaceAll(/[.*+?^${}()|[\]\\/]/gu, String.raw`\$&`);
  return new RegExp(String.raw`(?<![\p{L}\p{N}_])${literal}(?![\p{L}\p{N}_])`, 'gu');
}

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

/** Passwords of the URLs in a value; the URLs themselves name servers and are no secret. */
const passwordsOf = (value: unknown): object => ({
  password: stringsIn(value).flatMap((text) => withPassword(text).slice(1)),
});

const listOf = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);

function objectOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}

/** What is below a key of secrets is one, too. A loop, since YAML makes circles and a text nests as deep as it likes. */
function stringsIn(source: unknown): string[] {
  const found: string[] = [];
  const seen = new Map<object, boolean>();
  const open: { readonly value: unknown; readonly isSecret: boolean }[] = [
    { value: source, isSecret: false },
  ];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { value, isSecret } = next;
    if (typeof value === 'string') found.push(...secretsIn(value, isSecret));
    if (typeof value !== 'object' || value === null) continue;
    const before = seen.get(value);
    if (before === true || before === isSecret) continue;
    seen.set(value, isSecret);
    for (const [key, item] of Object.entries(value)) {
      if (!plainKeys.has(key)) open.push({ value: item, isSecret: isSecret || secretKeys.test(key) });
    }
  }
  return found;
}

function secretsIn(value: string, isSecret: boolean): string[] {
  const [text = '', ...passwords] = withPassword(value);
  const found = [...(isSecret || text.length >= longEnough ? [text] : []), ...passwords];
  return found.filter((secret) => secret.length >= shortest && !switches.test(secret));
}

function withPassword(text: string): string[] {
  const password = /^[a-z+]+:\/\/[^/@]*:([^/@]+)@/u.exec(text)?.[1];
  return password === undefined ? [text] : [text, password];
}
