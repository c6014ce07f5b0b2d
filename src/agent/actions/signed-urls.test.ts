import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { isObject } from '../../platform/json.ts';
import type { AgentClient } from '../testing/agent-client.ts';
import { buildAgentExecutable, noAgentExecutable } from '../testing/agent-executable.ts';
import { AgentProcess } from '../testing/agent-process.ts';
import { makeArchive, sha1 } from '../testing/archives.ts';
import { DavServer } from '../testing/dav-server.ts';
import { TestVm } from '../testing/test-vm.ts';

const headers = { 'x-ms-blob-type': 'BlockBlob' };
const sha512 = (content: Buffer): string => createHash('sha512').update(content).digest('hex');
const digestsOf = (content: Buffer): string => `${sha1(content)};sha512:${sha512(content)}`;

/** Counts requests for signed URLs, which must have the headers of the request and no password. */
function watch(dav: DavServer): readonly string[] {
  const seen: string[] = [];
  dav.intercept = ({ method, url = '', headers: sent }) => {
    assert.equal(sent['x-ms-blob-type'], 'BlockBlob');
    assert.equal(sent.authorization, undefined);
    seen.push(`${method} ${url.replace(/\?.*$/u, '').replace(/^.*\//u, '')}`);
    return false;
  };
  return seen;
}

/** Compiles a package that depends on another one, and fetches logs: all by signed URLs with headers. */
async function compileAndFetchLogs(client: AgentClient, dav: DavServer): Promise<void> {
  const seen = watch(dav);
  const source = await makeArchive({
    packaging: 'cp $(dirname $BOSH_INSTALL_TARGET)/base/word $BOSH_INSTALL_TARGET',
  });
  const base = await makeArchive({ word: 'hello' });
  dav.add('source', source);
  dav.add('base', base);
  const compiled = await client.task('compile_package_with_signed_url', {
    package_get_signed_url: dav.signedUrl('GET', 'source'),
    upload_signed_url: dav.signedUrl('PUT', 'compiled'),
    ...{ digest: sha1(source), name: 'app', version: '1', blobstore_headers: headers },
    deps: {
      base: {
        ...{ name: 'base', version: '1', sha1: sha1(base), blobstore_headers: headers },
        package_get_signed_url: dav.signedUrl('GET', 'base'),
      },
    },
  });
  const result = dav.find('compiled');
  assert.ok(result);
  assert.deepEqual(compiled, { result: { sha1: digestsOf(result) } });
  const logs = await client.task('fetch_logs_with_signed_url', {
    ...{ signed_url: dav.signedUrl('PUT', 'logs'), log_type: 'job', filters: null },
    blobstore_headers: headers,
  });
  const archive = dav.find('logs');
  assert.ok(archive);
  assert.deepEqual(logs, { sha1: digestsOf(archive) });
  assert.deepEqual(seen.toSorted(), ['GET base', 'GET source', 'PUT compiled', 'PUT logs']);
}

/** Each failure is an exception with its cause and the next step, and the agent goes on. */
async function fail(client: AgentClient, dav: DavServer): Promise<void> {
  const source = await makeArchive({ packaging: 'touch $BOSH_INSTALL_TARGET/made' });
  dav.add('other', source);
  const compile = (changes: object): Promise<unknown> =>
    client.task('compile_package_with_signed_url', {
      package_get_signed_url: dav.signedUrl('GET', 'other'),
      upload_signed_url: dav.signedUrl('PUT', 'other-compiled'),
      ...{ digest: sha1(source), name: 'other', version: '1', deps: {}, ...changes },
    });
  dav.intercept = () => false;
  await assert.rejects(
    compile({ digest: sha1(Buffer.from('x')) }),
    /source of package 'other' .*has sha1 .*, expected/u,
  );
  await assert.rejects(
    compile({ package_get_signed_url: 'file:///etc/shadow' }),
    /must be an http or https URL/u,
  );
  await assert.rejects(
    compile({ blobstore_headers: { 'x-a': 'b\r\nc: d' } }),
    /must be the text of a header/u,
  );
  dav.intercept = (request, response) => {
    if (request.method !== 'GET') return false;
    response.writeHead(200, { 'content-length': source.length });
    response.write(source.subarray(0, 10), () => setTimeout(() => response.destroy(), 20));
    return true;
  };
  await assert.rejects(compile({}), /GET https:\S+ failed: the connection ended after 10/u);
  for (const [status, step] of [
    [401, /PUT https:\S+ failed: status 401 .*whether a signed URL has expired/u],
    [507, /PUT https:\S+ failed: status 507 .*free space in the blobstore/u],
  ] as const) {
    dav.intercept = (request, response) =>
      request.method === 'PUT' && Boolean(response.writeHead(status).end());
    await assert.rejects(compile({}), (error) => {
      assert.match(String(error), step);
      assert.doesNotMatch(String(error), /st=/u);
      return true;
    });
  }
  dav.intercept = () => false;
  assert.ok(isObject(await compile({})));
}

test('signed URLs with headers serve compilation, logs and DNS, and their failures are told', async (t) => {
  const dav = await DavServer.start();
  t.after(() => dav.close());
  const vm = await TestVm.create();
  t.after(() => vm.remove());
  const hosts = join(vm.directories.base, 'hosts');
  await writeFile(hosts, '');
  const client = await vm.start();
  await client.task('update_settings', { blobstores: [dav.settings] });
  await compileAndFetchLogs(client, dav);
  const seen = watch(dav);
  const records = Buffer.from(JSON.stringify({ records: [['10.0.0.8', 'a.bosh']], version: 1 }));
  dav.add('dns', records);
  const request = { signed_url: dav.signedUrl('GET', 'dns'), multi_digest: digestsOf(records), version: 1 };
  assert.equal(
    await client.value('sync_dns_with_signed_url', { ...request, blobstore_headers: headers }),
    'synced',
  );
  assert.match(await readFile(hosts, 'utf8'), /^10\.0\.0\.8 a\.bosh$/mu);
  assert.deepEqual(seen, ['GET dns']);
  await fail(client, dav);
  assert.doesNotMatch(vm.lines.join('\n'), /st=|blobstore-password/u);
});

test(
  'signed URLs with headers, and their failures, in the executable',
  { skip: noAgentExecutable },
  async (t) => {
    const dav = await DavServer.start();
    t.after(() => dav.close());
    const vm = await TestVm.create();
    t.after(() => vm.remove());
    const agent = AgentProcess.spawn([await buildAgentExecutable(t), '-b', vm.directories.base]);
    t.after(() => agent.end('SIGKILL'));
    const [, port] = await agent.logged(/listens on 127\.0\.0\.1:([0-9]+)/u);
    const client = vm.client(Number(port));
    await client.task('update_settings', { blobstores: [dav.settings] });
    await compileAndFetchLogs(client, dav);
    await fail(client, dav);
    assert.doesNotMatch(agent.output, /st=|blobstore-password/u);
  },
);
