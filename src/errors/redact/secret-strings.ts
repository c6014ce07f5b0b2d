/** Cut out of a message, one character would show itself by where it is missing. */
const shortest = 2;
/** Of a text whose key does not say that it is a secret. */
const longEnough = 6;
const longNumber = 8;
const secretPaths = new RegExp(
  `^(?:${[
    String.raw`[\d.]+(?::\d+|/\d+)?`,
    String.raw`[\da-fA-F]*:[\da-fA-F:.]*(?:/\d+)?`,
    String.raw`(?:localhost|(?:[a-z\d-]+\.)+[a-z]{2,})(?::\d+)?`,
    String.raw`(?:~|\.{1,2})?/[\w./-]*`,
    String.raw`[a-z]+://[^\s@?]*`,
  ].join('|')})$`,
  'u',
);
/** Answers to a question such as `keep_root_password`, never secrets: cut out, they would be guessed and leave nonsense. */
const booleanKeys = /^(?:true|false|yes|no|on|off|null|none)$/iu;
const secretKeys =
  /(?:pass|password|passwd|passphrase|secret|token|credential|(?:api|access|account|client|private|secret|shared)[_-]?key|(?:^|[_-])key)(?:s|[_-]data)?$/iu;
/**
 * They name things and are no secrets: parts of create_vm's env, the name of a user, Secrets in a cluster, and as whom a kubeconfig
 * acts, which the API's errors name.
 */
const nonSecretKeys = new Set([
  ...['group', 'groups', 'tags', 'username', 'image_pull_secrets', 'imagePullSecrets'],
  ...['as', 'as-uid', 'as-groups'],
]);

/**
 * The strings of values whose contents are secret, whatever their shape, and the passwords of the URLs among them. What is below a
 * key of secrets is one, however short. A loop, since YAML makes circles and a text nests as deep as it likes.
 */
export function secretStrings(source: unknown): string[] {
  return stringsIn(
    source,
    (text, isSecret, isNumber) => isSecret || (!isNumber && text.length >= longEnough),
  );
}

/**
 * The same of variables by name: all but short ones and those that plainly name a place (addresses, paths, URLs without a password),
 * which messages need. A long number may be a PIN.
 */
export function variableSecrets(variables: Readonly<Record<string, unknown>>): string[] {
  return stringsIn(variables, (text, isSecret, isNumber) => {
    if (isSecret) return true;
    return isNumber ? text.length >= longNumber : text.length >= longEnough && !secretPaths.test(text);
  });
}

/** The same of values of which only some are secret: those that a key, a URL or a PEM header says are. */
export function secretsInFlags(source: unknown): string[] {
  return stringsIn(source, (text, isSecret) => isSecret || text.includes('PRIVATE KEY-----'));
}

/** Passwords of the URLs in a value; the URLs themselves name servers and are no secret. */
export function urlPasswords(source: unknown): string[] {
  return stringsIn(source, () => false);
}

/** `key` of a toleration or a selector is the name of a taint or label. */
const isName = (key: string, parent: object): boolean =>
  nonSecretKeys.has(key) || (key === 'key' && 'operator' in parent);

function stringsIn(
  source: unknown,
  isWanted: (text: string, isSecret: boolean, isNumber: boolean) => boolean,
): string[] {
  const found = new Set<string>();
  const seen = new Map<object, boolean>();
  const open: { readonly value: unknown; readonly isSecret: boolean }[] = [
    { value: source, isSecret: false },
  ];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { value, isSecret } = next;
    if (typeof value === 'string') {
      if (isWanted(value, isSecret, false)) found.add(value);
      for (const password of passwordsOf(value)) found.add(password);
    }
    if (typeof value === 'number' || typeof value === 'bigint') {
      if (isWanted(String(value), isSecret, true)) found.add(String(value));
    }
    if (typeof value !== 'object' || value === null) continue;
    const before = seen.get(value);
    if (before === true || before === isSecret) continue;
    seen.set(value, isSecret);
    for (const [key, item] of Object.entries(value)) {
      if (!isName(key, value)) open.push({ value: item, isSecret: isSecret || secretKeys.test(key) });
    }
  }
  return [...found].filter((secret) => secret.trim().length >= shortest && !booleanKeys.test(secret));
}

/** Up to each `@` before a blank or a quotation mark: a password may hold what a URL should have encoded. */
function passwordsOf(text: string): string[] {
  return [...text.matchAll(/[a-z][a-z0-9+.-]*:\/\/[^\s:@/"']*:([^\s"']+)@/giu)].flatMap(([, tail = '']) => {
    const parts = tail.split('@');
    return parts.map((_, index) => parts.slice(0, index + 1).join('@'));
  });
}
