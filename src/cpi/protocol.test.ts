import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { errorTable } from '../errors/error-table.ts';
import type { ErrorCode } from '../errors/error-table.ts';
import { isProductError, ProductError } from '../errors/product-error.ts';
import { failure, parseRequest } from './protocol.ts';
import { redactor, secretsOf } from './redact.ts';

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

test('what nests deeper than anybody writes is refused before it is walked; brackets in strings do not count', () => {
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

test('every code of the table gives its BOSH type and whether to try again', () => {
  for (const code of Object.keys(errorTable) as ErrorCode[]) {
    const { error } = failure(new ProductError(code, 'why'), '', plain);
    const { boshType, okToRetry } = errorTable[code];
    assert.deepEqual(error, { type: boshType, message: 'why', ok_to_retry: okToRetry });
  }
});

test('a fault of ours is a CpiError that asks to be reported', () => {
  const { error } = failure(new TypeError('x is undefined'), '', plain);
  assert.equal(error?.type, 'Bosh::Clouds::CpiError');
  assert.match(error.message, /^a fault in the CPI, please report it: TypeError: x is undefined/u);
});

test('secrets of all sources, and passwords in their URLs, are cut out of messages; names are not', () => {
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
      redactor(secretsOf(source))(text),
      `${'<redacted> '.repeat(5)}variable-name plugin-name proxy-host:3128`,
    );
  }
  for (const kubeconfig of [
    { kind: 'Config', users: [{ name: 'user-name', user: { token: 'the-token' } }] },
    'kind: Config\nusers:\n- name: user-name\n  user:\n    token: "the-token"\n',
  ]) {
    const redact = redactor(secretsOf(config(kubeconfig)), env);
    assert.equal(
      redact(
        'pass-word-1 pass-word-2 the-token; CreateContainerConfigError of user-name, team-name in the-namespace',
      ),
      '<redacted> <redacted> <redacted>; CreateContainerConfigError of user-name, team-name in the-namespace',
    );
  }
});
