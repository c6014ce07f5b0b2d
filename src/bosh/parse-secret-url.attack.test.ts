import assert from 'node:assert/strict';
import fc from 'fast-check';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { resolveBusAddress } from '../agent/mbus/bus-address.ts';
import type { Settings } from '../agent/settings/settings.ts';
import { parseConfig } from '../cpi/config/config.ts';
import { agentSettings } from '../cpi/vm/agent-settings.ts';
import { isProductError } from '../errors/product-error.ts';
import { createAgentClient } from './agent-client/create-agent-client.ts';
import { manifestWarnings } from './manifest/manifest-warnings.ts';
import { readCloudProvider } from './manifest/read-manifest.ts';
import type { Manifest } from './manifest/manifest.ts';
import { ConfigErrors, rootField } from './yaml/yaml-field.ts';
import { parseYaml } from './yaml/parse-yaml.ts';
import { parseSecretUrl } from './parse-secret-url.ts';

const clock = { sleep: () => Promise.resolve() };
const elsewhere = ['10.0.0.6:6868', 'agent.example:6868', '127.0.0.1.example:1', '[fd00::6]:6868'];

test('the password of an mbus is not sent to another host in clear text', () => {
  for (const host of elsewhere) {
    const mbus = `http://mbus:s3cret@${host}`;
    const message = problemOf(mbus);
    assert.match(message, /cloud_provider\.mbus: must be https/u);
    assert.doesNotMatch(message, /s3cret/u);
    assert.throws(
      () => createAgentClient({ mbusUrl: mbus, directorId: 'd', clock }),
      (error) => isProductError(error, 'INVALID_ARGUMENT') && !error.message.includes('s3cret'),
    );
    for (const [agent, env] of [
      [{ mbus }, {}],
      [{}, { bosh: { mbus: { urls: [mbus] } } }],
    ])
      assert.throws(
        () =>
          agentSettings({
            ...{ agentId: 'a', cid: 'vm-a', networks: {}, env: env ?? {} },
            agent: parseConfig({ agent }, {}).agent,
          }),
        (error) => isProductError(error, 'INVALID_CONFIG') && !error.message.includes('s3cret'),
      );
  }
});

test('http to this machine works with a warning from the deployer, and our agent refuses it', async (t) => {
  const seen: (string | undefined)[] = [];
  const server = createServer((request, response) => {
    seen.push(request.headers.authorization);
    response.end('{"value":"pong"}');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  const mbus = `http://mbus:s3cret@127.0.0.1:${(server.address() as AddressInfo).port}`;

  await createAgentClient({ mbusUrl: mbus, directorId: 'd', clock }).ping();

  assert.equal(seen.length, 1);
  assert.equal(problemOf(mbus), '');
  const warnings = manifestWarnings({
    ...{ instanceGroup: { networks: [] }, networks: [], resourcePool: { unusedEnv: [] } },
    cloudProvider: { mbus, mbusAt: 'm.yml:1:1: cloud_provider.mbus' },
  } as unknown as Manifest);
  assert.match(
    warnings.join('\n'),
    /^m\.yml:1:1: cloud_provider\.mbus: http sends the user and password in clear text/u,
  );
  assert.throws(
    () => resolveBusAddress({ mbusUrls: [mbus], networks: new Map() } as unknown as Settings, '127.0.0.1'),
    (error) => isProductError(error, 'AGENT_SETTINGS_INVALID') && !error.message.includes('s3cret'),
  );
});

test('a URL with an unencoded user or password is refused without a quote of it and without a stack', () => {
  for (const url of [
    'https://mbus:%S3cret@10.0.0.6',
    'https://mbus:a%S3@10.0.0.6',
    'https://mbus:s3/cret@10.0.0.6:6868',
    'https://mbus:12/s3cret@10.0.0.6:6868',
    'https://mbus:12?s3cret@10.0.0.6:6868',
    'https://mbus:12#s3cret@10.0.0.6:6868',
    String.raw`https://mbus:12\s3cret@10.0.0.6:6868`,
    'https://mbus:a@s3/cret@10.0.0.6:6868',
    'https://mbus:s3cret@10.0.0.6:99999',
    'https://mbus:s3cret@',
  ]) {
    assert.equal(parseSecretUrl(url), undefined, url);
    assert.match(
      problemOf(url),
      /^m\.yml:1:\d+: cloud_provider\.mbus: is not a URL; in the user and password/u,
    );
    assert.doesNotMatch(problemOf(url), /s3|cret/iu);
    assert.throws(
      () => resolveBusAddress({ mbusUrls: [url], networks: new Map() } as unknown as Settings, '127.0.0.1'),
      (error) => isProductError(error, 'AGENT_SETTINGS_INVALID') && !/s3|cret/iu.test(error.message),
    );
  }
  assert.equal(parseSecretUrl('https://host/path@v1.tgz')?.url.href, 'https://host/path@v1.tgz');
});

test('property: a shown URL contains no part of its password', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', minLength: 1 }), (password) => {
      const encoded = parseSecretUrl(`https://user:${encodeURIComponent(password.toWellFormed())}@host/a`);
      assert.equal(encoded?.password, password.toWellFormed());
      assert.equal(encoded?.url.href, 'https://host/a');
      const bare = parseSecretUrl(`https://user:${password}X@host/a`);
      assert.ok(bare === undefined || bare.url.href === 'https://host/a', bare?.url.href);
    }),
  );
});

function problemOf(mbus: string): string {
  const problems = new ConfigErrors();
  const root = rootField(
    parseYaml(JSON.stringify({ cloud_provider: { mbus } }), 'm.yml', 'MANIFEST_INVALID'),
    problems,
  );
  readCloudProvider(root.get('cloud_provider'), []);
  try {
    problems.throwIfAny('MANIFEST_INVALID');
  } catch (error) {
    return (error as Error).message
      .split('\n')
      .filter((line) => line.includes('.mbus:'))
      .join('\n');
  }
  return '';
}
