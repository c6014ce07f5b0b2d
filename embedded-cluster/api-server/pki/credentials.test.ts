import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { temporaryDirectory } from '../testing/temporary-directory.ts';
import { loadCredentials } from './credentials.ts';

const now = Date.parse('2030-01-01T00:00:00Z');
const day = 86_400_000;

test('credentials are created once, readable by their owner only, and renewed before they expire', async (t) => {
  const directory = temporaryDirectory(t);
  const first = await loadCredentials(directory, now);
  assert.equal(statSync(join(directory, 'pki', 'credentials.json')).mode & 0o777, 0o600);
  assert.deepEqual(await loadCredentials(directory, now + 300 * day), first);
  const renewed = await loadCredentials(directory, now + 340 * day);
  assert.notEqual(renewed.authority, first.authority);
  assert.notEqual(renewed.token, first.token);
});

test('the certificates have the right authority, addresses and group', async (t) => {
  const credentials = await loadCredentials(temporaryDirectory(t), now);
  const authority = new X509Certificate(credentials.authority);
  const server = new X509Certificate(credentials.serverCertificate);
  const admin = new X509Certificate(credentials.adminCertificate);
  assert(authority.ca && !server.ca && !admin.ca);
  assert(server.verify(authority.publicKey) && admin.verify(authority.publicKey));
  assert.equal(server.checkIP('127.0.0.1'), '127.0.0.1');
  assert.equal(server.checkHost('localhost'), 'localhost');
  assert.match(admin.subject, /O=system:masters/);
});

test('a damaged credentials file is replaced', async (t) => {
  const directory = temporaryDirectory(t);
  await loadCredentials(directory, now);
  writeFileSync(join(directory, 'pki', 'credentials.json'), '{"authority":');
  const { serverCertificate } = await loadCredentials(directory, now);
  assert.match(serverCertificate, /BEGIN CERTIFICATE/);
});
