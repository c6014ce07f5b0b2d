import assert from 'node:assert/strict';
import { createPrivateKey, generateKeyPairSync } from 'node:crypto';
import { before, suite, test } from 'node:test';
import { pemProblem } from './pem.ts';
import { createTestAuthority } from '../testing/certificates.ts';

suite('what PEM should hold', () => {
  let certificate = '';
  let key = '';
  before(async () => {
    ({ certificate, key } = await (await createTestAuthority()).client('tester'));
  });
  const passphrase = { cipher: 'aes-256-cbc', passphrase: 'words' } as const;

  test('certificates, alone, in a chain, with words around them, and keys of every form', () => {
    const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey;
    const ec = createPrivateKey(key);
    for (const text of [certificate, `${certificate}${certificate}`, `# ours\n${certificate}\n# end`])
      assert.equal(pemProblem(text, 'certificate'), undefined);
    for (const text of [
      key,
      `${certificate}${key}`,
      ec.export({ type: 'sec1', format: 'pem' }).toString(),
      rsa.export({ type: 'pkcs1', format: 'pem' }).toString(),
      rsa.export({ type: 'pkcs8', format: 'pem' }).toString(),
    ])
      assert.equal(pemProblem(text, 'key'), undefined);
  });

  test('anything else is named for what it is', () => {
    const parsed = createPrivateKey(key);
    const lines = certificate.trim().split('\n');
    const withoutALine = lines.toSpliced(2, 1).join('\n');
    for (const [text, kind, expected] of [
      ['', 'certificate', /does not hold PEM/u],
      [key, 'certificate', /holds PEM, and no certificate/u],
      [certificate, 'key', /holds PEM, and no private key/u],
      [lines.slice(0, -1).join('\n'), 'certificate', /cut off: .*no -----END/u],
      [`${certificate}${lines.slice(0, 3).join('\n')}`, 'certificate', /cut off/u],
      [withoutALine, 'certificate', /cut off or damaged/u],
      [certificate.replace('\nM', '\n!'), 'certificate', /cut off or damaged/u],
      [parsed.export({ type: 'pkcs8', format: 'pem', ...passphrase }).toString(), 'key', /is encrypted/u],
      [parsed.export({ type: 'sec1', format: 'pem', ...passphrase }).toString(), 'key', /is encrypted/u],
    ] as const)
      assert.match(pemProblem(text, kind) ?? '', expected);
  });
});
