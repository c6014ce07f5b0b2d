import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { openTransport } from './client/open-transport.ts';
import { serverAccess, type ServerAccess } from './access/server-access.ts';
import { createTestAuthority } from './testing/certificates.ts';
import { bunIsMissing, runInBun } from './testing/run-in-bun.ts';
import { startTlsProxy, type TlsProxy } from './testing/tls-proxy.ts';
import { startTlsServer } from './testing/tls-server.ts';
import { transportFailure } from './client/transport.ts';

interface Subject {
  /**
   * The access to a server that is not this machine, so that the proxy is used. Its certificate does not
   * matter in these tests.
   */
  readonly parts: ServerAccess;
  /** Its certificate is signed by the authority of the cluster. */
  readonly ofCluster: TlsProxy;
  /** Its certificate is signed by another authority. */
  readonly ofOther: TlsProxy;
  readonly other: string;
}

async function subject(t: TestContext): Promise<Subject> {
  const [authority, other] = [await createTestAuthority(), await createTestAuthority()];
  const server = await startTlsServer((_request, response) => response.end('hello'));
  const port = Number(new URL(server.access.server).port);
  const ofCluster = await startTlsProxy(await authority.server({ ip: '127.0.0.1' }), port);
  const ofOther = await startTlsProxy(await other.server({ ip: '127.0.0.1' }), port);
  t.after(async () => {
    ofCluster.close();
    ofOther.close();
    await server.close();
  });
  const { certificate, key } = await authority.client('administrator');
  const parts = { server: 'https://cluster.invalid:6443', ca: authority.ca, token: undefined };
  return { parts: { ...parts, certificate, key }, ofCluster, ofOther, other: other.ca };
}

test('an https proxy that only the authority of the cluster vouches for is refused, on Node', async (t) => {
  const { parts, ofCluster } = await subject(t);
  const access = { ...serverAccess(parts, { HTTPS_PROXY: ofCluster.url }), namespace: 'default' };
  const transport = await openTransport(access);
  t.after(() => transport.close());
  await assert.rejects(
    transport.request({ method: 'GET', path: '/' }),
    (error) => transportFailure(error) === 'tls',
  );
  assert.deepEqual(ofCluster.shown, []);
});

test('an https proxy that the machine trusts is not shown the client certificate, on Node', async (t) => {
  const { parts, ofOther, other } = await subject(t);
  const before = getCACertificates('default');
  setDefaultCACertificates([...before, other]);
  t.after(() => setDefaultCACertificates(before));
  const access = { ...serverAccess(parts, { HTTPS_PROXY: ofOther.url }), namespace: 'default' };
  const transport = await openTransport(access);
  t.after(() => transport.close());
  // the server behind the proxy has a certificate of a third authority
  await assert.rejects(
    transport.request({ method: 'GET', path: '/' }),
    (error) => transportFailure(error) === 'tls',
  );
  assert.deepEqual(ofOther.shown, [undefined]);
});

test(
  'an https proxy is refused on Bun, which would show it the client certificate',
  { skip: bunIsMissing() ?? false },
  async (t) => {
    const { parts, ofCluster } = await subject(t);
    const [result] = await runInBun('./https-proxy-in-bun.ts', { parts, proxy: ofCluster.url });
    assert.equal(result?.name, 'refused');
    assert.match(result.error ?? '', /HTTPS_PROXY or env\.https_proxy is an https URL.* use an http proxy/u);
    assert.deepEqual(ofCluster.shown, []);
  },
);
