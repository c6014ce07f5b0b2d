import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { loadManifest } from '../../bosh/manifest/load-manifest.ts';
import { makeServerCertificate } from '../../bosh/testing/certificates.ts';
import { createEnv } from '../create-env.ts';
import { scratchDirectory } from '../testing/scratch.ts';
import { testEnvironment } from '../testing/test-environment.ts';
import { checkAgentCertificate } from './check-agent-certificate.ts';

test('a new address that the stored certificate lacks is refused before a VM is created or deleted', async (t) => {
  const { options, ports, cloud, editManifest } = await testEnvironment(t);
  const move = (address: string) =>
    editManifest((text) =>
      text
        .replace(/static_ips: \[[\d.]+\]/, `static_ips: [${address}]`)
        .replace(/secret@[\d.]+/, `secret@${address}`),
    );
  const refused = (error: Error & { code?: string }): boolean => {
    assert.equal(error.code, 'MANIFEST_INVALID');
    for (const part of [
      /manifest\.yml:\d+:\d+: cloud_provider\.mbus: /,
      `variable 'mbus_tls' of '${options.varsStorePath}', is for 127.0.0.1 and not for '127.0.0.2'`,
      `remove 'mbus_tls' from the vars store '${options.varsStorePath}'`,
    ])
      assert.ok(
        typeof part === 'string' ? error.message.includes(part) : part.test(error.message),
        error.message,
      );
    return true;
  };

  await move('127.0.0.2');
  await assert.rejects(createEnv(options, ports), refused);
  assert.deepEqual(cloud.vms(), []);
  await move('127.0.0.1');
  await createEnv(options, ports);
  await cloud.forgetRequests();
  await move('127.0.0.2');
  await assert.rejects(createEnv(options, ports), refused);

  assert.equal(cloud.vms().length, 1);
  assert.deepEqual(cloud.calls(), []);
});

const own = makeServerCertificate('10.0.0.5');
const named = makeServerCertificate('*.example.com');

/** Checks a manifest that contains the certificate itself. */
async function check(
  t: TestContext,
  mbus: string,
  cert: Partial<Awaited<typeof own>>,
  ca: string | undefined = cert.ca,
): Promise<void> {
  const path = join(await scratchDirectory(t), 'm.yml');
  await writeFile(
    path,
    JSON.stringify({
      name: 'dep',
      releases: [{ name: 'r', url: 'file://r.tgz' }],
      resource_pools: [
        {
          ...{ name: 'vms', network: 'any', stemcell: { url: 'file://stemcell.tgz' } },
          env: { bosh: { mbus: { cert } } },
        },
      ],
      networks: [{ name: 'any', type: 'dynamic' }],
      instance_groups: [{ name: 'group', resource_pool: 'vms', networks: [{ name: 'any' }], jobs: [] }],
      cloud_provider: { template: { name: 'cpi', release: 'r' }, mbus, cert: { ca } },
    }),
  );
  checkAgentCertificate((await loadManifest({ path })).manifest, undefined);
}

test('an address or name that the certificate has is accepted, and another one is refused', async (t) => {
  await check(t, 'https://mbus:secret@10.0.0.5:6868', await own);
  await check(t, 'https://mbus:secret@director.example.com:6868', await named);
  for (const [host, cert] of [
    ['10.0.0.6', await own],
    ['[fd00::5]', await own],
    ['director.example.org', await named],
  ] as const)
    await assert.rejects(check(t, `https://mbus:secret@${host}:6868`, cert), (error: Error) => {
      assert.match(error.message, /resource_pools\[0\]\.env\.bosh\.mbus\.cert\.certificate, is for /);
      assert.match(error.message, /give a certificate for this address/);
      assert.doesNotMatch(error.message, /secret/);
      return true;
    });
});

test('a certificate that the agent client may not meet at the mbus is not checked', async (t) => {
  const [cert, other] = [await own, await makeServerCertificate('10.0.0.6')];
  const { private_key: _, ...withoutKey } = cert;
  // TLS may end at a proxy, which has a certificate of another CA.
  await check(t, 'https://mbus:secret@10.0.0.6:6868', cert, other.ca);
  await check(t, 'http://mbus:secret@127.0.0.1:6868', cert);
  await check(t, 'https://mbus:secret@10.0.0.6:6868', withoutKey);
  await check(t, 'https://mbus:secret@10.0.0.6:6868', { ...cert, certificate: 'no PEM' });
});
