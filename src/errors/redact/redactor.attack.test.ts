import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { suite, test } from 'node:test';
import fc from 'fast-check';
import { redactor } from './redactor.ts';
import { secretsInFlags, variableSecrets } from './secret-strings.ts';

const base64 = (text: string): string => Buffer.from(text).toString('base64');
const json = (text: string): string => JSON.stringify(text).slice(1, -1);
const inGo = (text: string): string =>
  text.replaceAll(/[<>&]/gu, (character) => `\\u00${character.charCodeAt(0).toString(16)}`);
const inHtml = (text: string): string =>
  text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('"', '&quot;')
    .replaceAll('+', '&#43;')
    .replaceAll('@', '&#x40;');
const form = (text: string): string => new URLSearchParams({ '': text }).toString().slice(1);

/** The ways in which servers and programs quote. */
const quotations: Readonly<Record<string, (text: string) => string>> = {
  'as it is': (text) => text,
  'JSON-escaped': json,
  'JSON-escaped twice, as JSON in JSON': (text) => json(json(text)),
  'JSON-escaped as Go does': (text) => inGo(json(text)),
  'URL-encoded': encodeURIComponent,
  'URL-encoded in lower case': (text) =>
    encodeURIComponent(text).replaceAll(/%../gu, (code) => code.toLowerCase()),
  'as a form': form,
  'in HTML': inHtml,
  'in base64': base64,
  'in base64 for URLs': (text) => Buffer.from(text).toString('base64url'),
  'in base64, in lines': (text) => base64(text).replaceAll(/.{20}/gu, '$&\r\n  '),
  'in base64, in lines, JSON-escaped': (text) => json(base64(text).replaceAll(/.{20}/gu, '$&\n')),
  'in base64 of base64': (text) => base64(base64(text)),
  'in base64 behind a letter': (text) => `x${base64(text)}`,
  ...Object.fromEntries(
    ['', '.', '..', '...'].flatMap((before) => [
      [`in base64 behind ${before.length} bytes`, (text: string) => base64(`${before}${text}, and more`)],
      [
        `in base64 of JSON behind ${before.length} bytes`,
        (text: string) => base64(JSON.stringify({ before, data: { url: `https://mbus:${text}@10.0.0.6` } })),
      ],
    ]),
  ),
};

/** Returns the texts that a reader could get from a message by decoding everything that looks encoded. */
function decodings(message: string): string[] {
  const unescaped = message.replaceAll(/\\u(....)|\\n|\\(.)/gu, (_, code?: string, character?: string) =>
    code === undefined ? (character ?? '\n') : String.fromCharCode(Number.parseInt(code, 16)),
  );
  const runs = [...unescaped.matchAll(/[\w+/-]+/gu)].flatMap(([run]) => [run, run.slice(1)]);
  const joined = unescaped.replaceAll(/\s/gu, '');
  const bare = message
    .replaceAll('&quot;', '"')
    .replaceAll('&lt;', '<')
    .replaceAll('&#43;', '+')
    .replaceAll('&#x40;', '@');
  return [
    message,
    bare.replaceAll('&amp;', '&'),
    unescaped,
    ...[...runs, joined].map((run) => Buffer.from(run, 'base64').toString()),
  ];
}

const secrets = ['p@ss/w+rd "q" <&>\\ %41', 'Zürich-grüßt-曜', 'simple-secret-1', 'short', '}Pr0d-Passw0rd!'];

suite('a secret is found in every encoding', () => {
  for (const [name, quote] of Object.entries(quotations))
    test(name, () => {
      for (const secret of secrets) {
        const redact = redactor({ password: secret });
        const message = `422 Invalid: "${quote(secret)}": no`;
        const cleared = redact(message);
        for (const text of decodings(cleared)) assert.ok(!text.includes(secret), `${message} => ${cleared}`);
        assert.match(cleared, /<redacted>/u);
        assert.ok(cleared.startsWith('422 Invalid: "') && cleared.endsWith('": no'), cleared);
      }
    });

  test('any secret of at least six characters, in two nested encodings', () => {
    const one = fc.constantFrom(...Object.entries(quotations));
    const secret = fc
      .string({ unit: 'binary', minLength: 6, maxLength: 40 })
      .map((text) => text.toWellFormed())
      .filter((text) => /^[^\s]{6}/u.test(text));
    fc.assert(
      fc.property(secret, one, one, (text, [, inner], [, outer]) => {
        const message = `no: ${outer(inner(text))};`;
        const cleared = redactor([text])(message);
        assert.notEqual(cleared, message);
        assert.ok(!cleared.includes(text));
      }),
      { numRuns: 300 },
    );
  });

  test('a secret that is encoded or has a line end in the configuration', () => {
    const key = generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
    const redact = redactor(
      { url: 'https://mbus:p%40ss%2Fw0rd@10.0.0.6:6868', 'client-key-data': base64(key) },
      ['token-of-a-file\n'],
    );
    const [, line = ''] = key.split('\n');
    for (const quoted of ['p%40ss%2Fw0rd', 'p@ss/w0rd', base64('p@ss/w0rd'), 'token-of-a-file', line])
      assert.equal(redact(`a ${quoted}, b`).replaceAll('<redacted>', ''), 'a , b', quoted);
    assert.ok(!decodings(redact(base64(key))).some((text) => text.includes(line)));
  });
});

test('a private key shows no line, however it is indented, quoted or wrapped', () => {
  const key = generateKeyPairSync('rsa', { modulusLength: 2048 })
    .privateKey.export({ type: 'pkcs8', format: 'pem' })
    .toString();
  const lines = key.trim().split('\n').slice(1, -2);
  const redact = redactor({ private_key: key });
  for (const quote of [
    (text: string) => text.replaceAll('\n', '\n      '),
    (text: string) => text.replaceAll('\n', '\r\n'),
    (text: string) => text.replaceAll('\n', ' '),
    json,
    base64,
    (text: string) => base64(JSON.stringify({ key: text })),
    () => lines[3] ?? '',
  ]) {
    const cleared = redact(`data: ${quote(key)} end`);
    for (const text of decodings(cleared))
      for (const line of lines) assert.ok(!text.includes(line), cleared.slice(0, 300));
  }
});

test('the name of a taint, a label or a pull secret is not a secret, although its key looks like one', () => {
  const tolerations = [{ key: 'dedicated', operator: 'Exists' }];
  const names = { tolerations, image_pull_secrets: ['registry'] };
  const redact = redactor(secretsInFlags({ ...names, tls: { key: 'the-key' } }));
  assert.equal(
    redact('untolerated taint {dedicated: bosh}, no Secret registry, the-key'),
    'untolerated taint {dedicated: bosh}, no Secret registry, <redacted>',
  );
});

test('the user that a kubeconfig impersonates is readable, and a variable with the same name is not', () => {
  const user = { as: 'system:deployer', 'as-uid': '3f1c-uid', 'as-groups': ['deployers'] };
  const variables = { as: 'hunter22', nested: { 'as-uid': 'hunter23', 'as-groups': 'https://u:p4ss@h/' } };
  const redact = redactor(variableSecrets({ kubeconfig: { users: [{ user }] }, ...variables }));
  assert.equal(
    redact('system:deployer 3f1c-uid deployers; hunter22 hunter23 p4ss'),
    'system:deployer 3f1c-uid deployers; <redacted> <redacted> <redacted>',
  );
});

test('addresses and host names among variables stay readable, and all other values are redacted', () => {
  const shown = {
    ...{ ip: '10.0.0.6', cidr: '10.0.0.0/24', v6: 'fd00::6', host: 'bosh.example.com', at: 'localhost:6868' },
    ...{
      directory: '/var/lib/kubelet',
      home: '~/.ssh/key.pub',
      url: 'https://10.0.0.6:6868/x',
      port: 25555,
      ok: true,
    },
  };
  const cut = {
    ...{
      admin: 'Pass.Word',
      path: '/a b/c',
      url: 'https://u:p4ss@h/',
      pin: 31415926,
      account: 9_007_199_254_740_993n,
      word: 'operators',
    },
    ...{ vault_password: '10.0.0.7', token: 'a.hostname', nested: { api_key: '/x/y' } },
  };
  const redact = redactor({ password: variableSecrets({ ...shown, more: cut }) });
  const text = Object.values(shown).join(' ');
  assert.equal(redact(text), text);
  assert.match(
    redact('Pass.Word /a b/c p4ss 31415926 9007199254740993 operators 10.0.0.7 a.hostname /x/y'),
    /^(?:<redacted> ?)+$/u,
  );
});

test('messages and long quotations without a secret are not changed', () => {
  const redact = redactor(['p@ssw0rd-1', 'MIIEvQIBADANBgkqhkiG9w0BAQEFAASC'], {
    password: 'ab',
    token: 'key',
  });
  for (const text of [
    `creating secrets vm-1 in namespace bosh failed: the Kubernetes API answered 422 Invalid: Secret "vm-1" is invalid`,
    `${'deadline-exceeded/namespace+pods_'.repeat(500)} 100% \\n C:\\abc %zz`,
    base64('a harmless text of some length '.repeat(40)),
    'a keyboard, a monkey and about',
  ])
    assert.equal(redact(text), text);
});

test('a text with too much decoded content is left out', () => {
  const redact = redactor(['p@ssw0rd-1']);
  const huge = `%41+\\n${base64('p@ssw0rd-1')} `.repeat(100_000);
  assert.match(redact(huge), /^<\d+ characters left out>$/u);
});
