import assert from 'node:assert/strict';
import fc from 'fast-check';
import { test } from 'node:test';
import { errorTable, type ErrorCode } from '../../errors/error-table.ts';
import { isProductError, ProductError } from '../../errors/product-error.ts';
import { errorResponse, parseRequest } from './protocol.ts';
import { redactor } from '../../errors/redact/redactor.ts';
import { secretsOfConfig } from '../config/config-secrets.ts';

const plain = (text: string): string => text;

test('any text is a request or INVALID_REQUEST', () => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.json()), (text) => {
      try {
        assert.equal(typeof parseRequest(text).method, 'string');
      } catch (error) {
        assert.ok(isProductError(error, 'INVALID_REQUEST'));
      }
    }),
  );
});

test('a request that nests too deep is rejected before it is parsed; brackets in strings do not count', () => {
  const nested = (levels: number): string =>
    `{"method":"x","arguments":[${'['.repeat(levels)}${']'.repeat(levels)},"[{\\"["]}`;
  assert.equal(parseRequest(nested(98)).method, 'x');
  for (const levels of [99, 100_000]) {
    assert.throws(
      () => parseRequest(nested(levels)),
      (error) => isProductError(error, 'INVALID_REQUEST'),
    );
  }
  assert.equal(parseRequest(`{"method":"x","arguments":["${'['.repeat(1000)}"]}`).method, 'x');
});

test('each code of the table has a BOSH type and says whether to retry', () => {
  for (const code of Object.keys(errorTable) as ErrorCode[]) {
    const { error } = errorResponse(new ProductError(code, 'why'), plain);
    const { boshType, okToRetry } = errorTable[code];
    assert.deepEqual(error, { type: boshType, message: `why [${code}]`, ok_to_retry: okToRetry });
  }
});

test('an internal error is a CpiError that asks for a report', () => {
  const { error } = errorResponse(new TypeError('x is undefined'), plain);
  assert.equal(error?.type, 'Bosh::Clouds::CpiError');
  assert.match(error.message, /^a fault in the CPI, please report it: TypeError: x is undefined/u);
});

test('a short secret is redacted as a word, by its key or as the password of a URL; other short texts are not', async () => {
  const config = {
    agent: {
      mbus: 'https://mbus:a.b@0.0.0.0:6868',
      blobstore: { options: { user: 'agent', password: 's3' } },
    },
    kubernetes: { token: 'tok', client_key: 'k(', kubeconfig: 'users:\n- user:\n    password: kube\n' },
    env: { https_proxy: 'http://user:prx@proxy-host:3128' },
    registry: { username: 'u', password: 'reg' },
    contexts: { east: { kubernetes: { token: 'east' } } },
  };
  const env = {
    bosh: { password: '**', token: '', group: 'g', blobstores: [{ options: { secret_access_key: 'sak' } }] },
  };
  const exec = { command: 'p', args: ['get'], env: [{ name: 'PROFILE', value: 'bosh' }] };
  const kubeconfig = { users: [{ name: 'n', user: { password: 'usr', exec } }] };
  const redact = redactor(
    await secretsOfConfig(config),
    env,
    await secretsOfConfig({ kubernetes: { kubeconfig } }),
  );
  assert.equal(
    redact('a.b s3 tok k( kube prx reg east ** sak usr'),
    Array.from({ length: 11 }, () => '<redacted>').join(' '),
  );
  assert.equal(
    redact('"s3", (reg) tok: kube/prx=sak'),
    '"<redacted>", (<redacted>) <redacted>: <redacted>/<redacted>=<redacted>',
  );
  const harmless = 'agent mbus user g get bosh PROFILE axb tokens kubelet regular easter s33 disk_reg n u p';
  assert.equal(redact(harmless), harmless);
});

test('secrets of all sources, and passwords in their URLs, are redacted in messages; names are not', async () => {
  const config = (kubeconfig: unknown): object => ({
    agent: { mbus: 'https://mbus:pass-word-1@0.0.0.0:6868' },
    kubernetes: { namespace: 'the-namespace', kubeconfig },
  });
  const env = {
    bosh: { password: 'pass-word-2', group: 'director-deployment-group', tags: { team: 'team-name' } },
  };
  const exec = {
    command: '/bin/plugin-name',
    args: ['argument-1'],
    env: [{ name: 'variable-name', value: 'pass-word-3' }],
  };
  const forms = {
    kubernetes: {
      token: 'pass-word-4',
      client_key: 'pass-word-5',
      kubeconfig: { users: [{ name: 'user-name', user: { exec } }] },
    },
    env: { https_proxy: 'http://proxy-user:pass-word-6@proxy-host:3128' },
  };
  for (const source of [forms, { contexts: { 'context-name': forms } }]) {
    const text =
      'argument-1 pass-word-3 pass-word-4 pass-word-5 pass-word-6 variable-name plugin-name proxy-host:3128';
    assert.equal(
      redactor(await secretsOfConfig(source))(text),
      `${'<redacted> '.repeat(5)}variable-name plugin-name proxy-host:3128`,
    );
  }
  for (const kubeconfig of [
    { kind: 'Config', users: [{ name: 'user-name', user: { token: 'the-token' } }] },
    'kind: Config\nusers:\n- name: user-name\n  user:\n    token: "the-token"\n',
  ]) {
    const redact = redactor(await secretsOfConfig(config(kubeconfig)), env);
    assert.equal(
      redact(
        'pass-word-1 pass-word-2 the-token; CreateContainerConfigError of user-name, team-name in the-namespace',
      ),
      '<redacted> <redacted> <redacted>; CreateContainerConfigError of user-name, team-name in the-namespace',
    );
  }
});

for (const form of [(kubeconfig: object): unknown => kubeconfig, JSON.stringify]) {
  test(`the account that a kubeconfig (${typeof form({})}) acts as, and the file of its token, are no secrets`, async () => {
    const user = {
      as: 'system:serviceaccount:bosh:deployer',
      'as-uid': '3f1c-uid',
      'as-groups': ['deployers'],
      'as-user-extra': { scope: ['the-scope'] },
      tokenFile: '/etc/deployer/token',
    };
    const redact = redactor(
      await secretsOfConfig({ kubernetes: { kubeconfig: form({ users: [{ user }] }) } }),
    );
    const text =
      'User "system:serviceaccount:bosh:deployer" (3f1c-uid, deployers) cannot list pods; /etc/deployer/token';
    assert.equal(redact(`${text} the-scope`), `${text} <redacted>`);
    const mistaken = { users: [{ user: { tokenFile: 'eyJhbGciOi.the-token' } }] };
    assert.equal(
      redactor(await secretsOfConfig({ kubernetes: { kubeconfig: mistaken } }))('eyJhbGciOi.the-token'),
      '<redacted>',
    );
  });
}

const pluginUser = {
  token: 'the-token',
  exec: {
    command: 'the-plugin',
    args: ['get-token', '--secret=in-flag'],
    env: [
      { name: 'PROFILE', value: 'profile-1' },
      { name: 'API_KEY', value: 'key' },
    ],
  },
};
const flowText = `{users: [{name: user-name, user: {token: the-token, exec: {command: the-plugin, args: [get-token, --secret=in-flag],
  env: [{name: PROFILE, value: profile-1}, {name: API_KEY, value: key}]}}}], clusters: [{cluster: {proxy-url: "http://u:prx@proxy-host"}}]}`;
const blockText = `
clusters:
- cluster:
    proxy-url: http://u:prx@proxy-host
users:
- name: user-name
  user:
    token: >-
      the-token
    exec:
      command: the-plugin
      args:
      - get-token
      - --secret=in-flag
      env:
      - name: PROFILE
        value: profile-1
      - {name: API_KEY, value: key}
`;
const jsonText = JSON.stringify({
  clusters: [{ cluster: { 'proxy-url': 'http://u:prx@proxy-host' } }],
  users: [{ name: 'user-name', user: pluginUser }],
});

for (const [form, kubeconfig] of [
  ['JSON', jsonText],
  ['flow YAML', flowText],
  ['block YAML', blockText],
] as const) {
  test(`the secrets of a kubeconfig that is ${form} text are redacted in messages, including those of a plugin`, async () => {
    for (const config of [
      { kubernetes: { kubeconfig } },
      { contexts: { east: { kubernetes: { kubeconfig } } } },
    ]) {
      const redact = redactor(await secretsOfConfig(config));
      assert.equal(
        redact('the-token get-token in-flag profile-1 key prx, the-plugin of user-name by proxy-host'),
        `${Array.from({ length: 6 }, () => '<redacted>').join(' ')}, the-plugin of user-name by proxy-host`,
      );
    }
  });
}

test('the secrets of an invalid or cyclic kubeconfig, or in unusual places of one, are found', async () => {
  for (const kubeconfig of [
    'users:\n- user:\n\ttoken: the-token\n    password: short\n',
    '{"users": [{"user": {"token": "the-token", "password": "short"',
    'users: &u\n- user: {token: the-token, password: short, more: *u}\n',
    'users:\n- user:\n    token: the-token\n  password: short\n',
    'users: [{user: {token: the-token, exec: {args: [--password, short]}}}]',
    `{"users": [{"user": {"token": "the-token", "password": "short", "more": ${'['.repeat(50_000)}${']'.repeat(50_000)}}}]}`,
  ]) {
    const redact = redactor(await secretsOfConfig({ kubernetes: { kubeconfig } }));
    assert.equal(redact('the-token short'), '<redacted> <redacted>', kubeconfig.slice(0, 80));
  }
});

test('a password that YAML takes for a number is one in the text', async () => {
  const redact = redactor(
    await secretsOfConfig({ kubernetes: { kubeconfig: 'users:\n- user:\n    password: 12345678\n' } }),
  );
  assert.equal(redact('u said 12345678'), 'u said <redacted>');
});

test('keys of secrets have many names, also in lists and mappings', () => {
  const source = {
    ...{ passwd: 'a1', passphrase: 'a2', apikey: 'a3', api_key: 'a4', accessKey: 'a5', access_key: 'a6' },
    ...{ secrets: ['a7', { name: 'a8' }], passwords: { root: 'a9' }, monkey: 'b1', keyboard: 'b2' },
  };
  assert.equal(
    redactor(source)('a1 a2 a3 a4 a5 a6 a7 a8 a9'),
    Array.from({ length: 9 }, () => '<redacted>').join(' '),
  );
  assert.equal(redactor(source)('b1 b2'), 'b1 b2');
});

test('a boolean and a single character are not secrets, whatever their key is; a common word is', () => {
  const redact = redactor({ keep_root_password: 'true', token: 'No', secret: 'x', url: 'https://u:y@h' });
  const text = 'set network_policy: true (No, x or y)';
  assert.equal(redact(text), text);
  assert.equal(redactor({ password: 'bosh' })('label bosh/x'), 'label <redacted>/x');
});
